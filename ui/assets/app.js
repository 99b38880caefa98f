/* What the pages do in the browser. No address but this server's is ever asked for. */
"use strict";

window.graphAgent = (() => {
  const byId = (id) => document.getElementById(id);
  const turns = new Map(); // turn id -> {element, view}
  let conversation = null;

  // ---------------------------------------------------------------- small things

  function make(html) {
    const template = document.createElement("template");
    template.innerHTML = html; // only ever our own constants, or HTML that the server has made safe
    return template.content;
  }

  /** Replace only those top-level blocks that changed, so that a selection and an open detail survive. */
  function setBlocks(target, html) {
    if (target.dataset.html === html) return;
    target.dataset.html = html;
    const next = [...make(html).childNodes];
    const now = [...target.childNodes];
    next.forEach((node, at) => {
      if (!now[at]) target.appendChild(node);
      else if (!now[at].isEqualNode(node)) now[at].replaceWith(node);
    });
    now.slice(next.length).forEach((node) => node.remove());
  }

  function announce(text) {
    const region = byId("announcer");
    if (region && region.textContent !== text) region.textContent = text;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without https the clipboard is closed to scripts; the old way still works.
      const area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      area.style.opacity = "0";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    announce("Copied");
  }

  /** Where the question is typed. */
  const box = () => document.querySelector("#question textarea");

  function focusBox() {
    const area = box();
    if (area) area.focus();
  }

  // ---------------------------------------------------------------- clicks

  /**
   * Send clicks on `data-do` elements and submits of `data-do` forms to the server. A deed named in `events`
   * goes out as the event of its name, any other as "act". What is in `local` is done here first, and goes to
   * the server only when that returns true.
   */
  function actions(element, trigger, events = [], local = {}) {
    const send = (source, extra = {}) => {
      const data = { dark: isDark(), ...source.dataset, ...extra };
      const mine = local[data.do];
      if (mine && mine(source, data) !== true) return;
      trigger(events.includes(data.do) ? data.do : "act", data);
    };
    element.addEventListener("click", (event) => {
      const source = event.target.closest("[data-do]");
      if (!source || source.tagName === "FORM" || source.disabled || !element.contains(source)) return;
      event.preventDefault();
      send(source);
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const form = event.target.closest("form[data-do]");
      if (form) send(form, Object.fromEntries(new FormData(form)));
    });
  }

  // ---------------------------------------------------------------- the conversation

  const TURN = `
    <article class="turn">
      <div class="question">
        <div class="bubble"><p class="words" dir="auto"></p><span class="scope"></span></div>
        <button type="button" class="tool" data-do="edit" aria-label="Edit the question" title="Edit">
          <svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="M4 16h3l8.5-8.500-3-3L4 13z"/></svg></button>
        <form class="rewrite" data-do="rewrite" hidden>
          <label class="sr" for="">Question</label><textarea name="question" rows="3" maxlength="20000"></textarea>
          <div><button type="submit" class="small primary">Ask</button>
          <button type="button" class="small" data-do="unedit">Cancel</button></div>
        </form>
      </div>
      <details class="trace" open><summary><span class="pulse" aria-hidden="true"></span><span class="summary"></span></summary>
        <div class="steps"></div><div class="left-out"></div></details>
      <div class="answer" dir="auto"></div>
      <div class="foot"></div>
    </article>`;

  function createTurn(view) {
    const element = make(TURN).querySelector(".turn");
    element.dataset.turn = view.id;
    const area = element.querySelector("form.rewrite textarea");
    area.id = `rewrite-${view.id}`;
    element.querySelector("form.rewrite label").htmlFor = area.id;
    element.querySelector(".trace > summary").addEventListener("click", () => (element.dataset.touched = "yes"));
    byId("turns").append(element);
    const entry = { element, view: null };
    turns.set(view.id, entry);
    return entry;
  }

  function put(view) {
    if (!view || !view.id || (view.conversation && view.conversation !== conversation)) return;
    const scroller = byId("feed");
    const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
    const isNew = !turns.has(view.id);
    const entry = turns.get(view.id) || createTurn(view);
    const { element } = entry;
    const before = entry.view;
    entry.view = view;
    element.dataset.status = view.status;
    element.querySelector(".words").textContent = view.question;
    element.querySelector(".scope").textContent = view.scope;
    element.querySelector(".summary").textContent = view.summary;
    const trace = element.querySelector(".trace");
    trace.hidden = view.status !== "running" && !view.steps.length;
    if (!element.dataset.touched) trace.open = view.status === "running";
    putSteps(element.querySelector(".steps"), view.steps);
    setBlocks(element.querySelector(".left-out"), view.skipped);
    setBlocks(element.querySelector(".answer"), view.answer);
    setBlocks(element.querySelector(".foot"), view.foot);
    byId("feed").classList.add("has-turns");
    if (view.status === "running") announce(view.summary);
    else if (before && before.status === "running") announce("The answer is ready.");
    if (isNew || atEnd) scroller.scrollTop = scroller.scrollHeight;
  }

  function putSteps(target, steps) {
    const now = new Map([...target.children].map((child) => [child.dataset.step, child]));
    steps.forEach((step) => {
      const old = now.get(step.id);
      if (old && old.dataset.html === step.html) return;
      const fresh = make(step.html).firstElementChild;
      fresh.dataset.step = step.id;
      fresh.dataset.html = step.html;
      if (old) {
        fresh.open = old.open;
        old.replaceWith(fresh);
      } else target.append(fresh);
    });
  }

  /** The feed shows a whole conversation, or the welcome. */
  function feed(element, trigger, watch, props, events) {
    element.innerHTML = '<div id="welcome"></div><div id="turns"></div>';
    const show = () => {
      const value = props.value || {};
      if (value.only === "welcome") {
        if (!turns.size) byId("welcome").innerHTML = value.welcome;
        return;
      }
      conversation = value.conversation || null;
      turns.clear();
      byId("turns").replaceChildren();
      byId("feed").classList.toggle("has-turns", Boolean(value.turns && value.turns.length));
      byId("welcome").innerHTML = value.welcome || "";
      (value.turns || []).forEach(put);
      byId("feed").scrollTop = byId("feed").scrollHeight;
      address(conversation);
    };
    watch("value", show);
    show();
    const turnOf = (source) => source.closest(".turn");
    const viewOf = (source) => turns.get(turnOf(source).dataset.turn).view;
    actions(element, trigger, events, {
      copy: (source) => copy(viewOf(source).copy),
      cite: (source) => {
        document.querySelectorAll(".cite.open").forEach((other) => other.classList.remove("open"));
        source.classList.add("open");
        return true;
      },
      edit: (source) => {
        const turn = turnOf(source);
        const form = turn.querySelector("form.rewrite");
        form.hidden = !form.hidden;
        form.querySelector("textarea").value = viewOf(source).question;
        if (!form.hidden) form.querySelector("textarea").focus();
      },
      unedit: (source) => {
        source.closest("form").hidden = true;
      },
      rewrite: (source, data) => {
        source.hidden = true;
        trigger("ask", { question: data.question, from: turnOf(source).dataset.turn });
      },
      retry: (source) => trigger("ask", { question: viewOf(source).question, from: turnOf(source).dataset.turn }),
      judge: (source, data) => {
        const turn = turnOf(source);
        const on = source.getAttribute("aria-pressed") !== "true";
        turn.querySelectorAll('[data-do="judge"]').forEach((one) => one.setAttribute("aria-pressed", String(on && one === source)));
        const form = turn.querySelector("form.reason");
        form.hidden = !(on && data.value === "-1");
        if (!form.hidden) form.querySelector("input").focus();
        trigger("judge", { turn: turn.dataset.turn, value: on ? data.value : "0", reason: "" });
      },
      reason: (source, data) => {
        trigger("judge", { turn: turnOf(source).dataset.turn, value: "-1", reason: data.reason });
      },
    });
  }

  /** A turn under way: its pieces come here and go where the conversation shows them. */
  function live(element, trigger, watch, props) {
    watch("value", () => {
      const view = props.value;
      if (!view) return;
      if (view.opens) {
        // The first question of a conversation: from now on the page belongs to it.
        conversation = view.conversation;
        address(conversation);
      }
      if (view.cut) dropFrom(view.cut);
      put(view);
    });
  }

  /** What a reader thinks of an answer is kept: only now is it said. */
  function judged(element, trigger, watch, props) {
    watch("value", () => {
      const entry = props.value && turns.get(props.value.turn);
      const place = entry && entry.element.querySelector("form.reason .saved");
      if (place && props.value.said) place.textContent = props.value.said;
    });
  }

  function dropFrom(turn) {
    const entry = turns.get(turn);
    if (!entry) return;
    let element = entry.element;
    while (element) {
      const next = element.nextElementSibling;
      turns.delete(element.dataset.turn);
      element.remove();
      element = next;
    }
  }

  /** The conversation stands in the address, so that a reload or a bookmark comes back to it. */
  function address(id) {
    const url = new URL(window.location.href);
    if (id) url.searchParams.set("c", id);
    else url.searchParams.delete("c");
    if (url.href !== window.location.href) window.history.replaceState(null, "", url);
  }

  // ---------------------------------------------------------------- panels

  /** A panel of server-made HTML; `opens` is the class that the body has while the panel holds something. */
  function panel(element, trigger, watch, props, events, { opens = "", local = {} } = {}) {
    const shown = () => {
      if (opens) document.body.classList.toggle(opens, Boolean(props.value));
      const mark = element.querySelector("mark");
      if (mark) mark.scrollIntoView({ block: "center" });
    };
    watch("value", shown);
    shown();
    actions(element, trigger, events, local);
    element.dataset.started = "yes";
  }

  function evidence(element, trigger, watch, props, events) {
    panel(element, trigger, watch, props, events, {
      opens: "has-evidence",
      local: {
        close: () => {
          props.value = "";
          document.body.classList.remove("has-evidence");
          const open = document.querySelector(".cite.open");
          if (open) open.focus();
        },
      },
    });
  }

  function conversations(element, trigger, watch, props, events) {
    panel(element, trigger, watch, props, events, {
      local: {
        rename: (source) => {
          const item = source.closest("li");
          item.classList.toggle("renaming");
          const input = item.querySelector("input");
          if (item.classList.contains("renaming")) input.select();
        },
        remove: asksAgain,
        open: () => {
          document.body.classList.remove("show-list");
          return true;
        },
        fresh: () => {
          document.body.classList.remove("show-list");
          setTimeout(focusBox, 200);
          return true;
        },
      },
    });
  }

  /** Deleting is asked for once more where it stands: it cannot be taken back. */
  function asksAgain(source) {
    if (source.dataset.sure === "yes") {
      delete source.dataset.sure;
      source.classList.remove("sure");
      return true;
    }
    source.dataset.sure = "yes";
    source.classList.add("sure");
    const label = source.querySelector(".label");
    const words = label ? label.textContent : source.getAttribute("aria-label");
    const say = (text) => (label ? (label.textContent = text) : source.setAttribute("aria-label", text));
    say("Really? Press again");
    announce("Press again to delete");
    setTimeout(() => {
      source.classList.remove("sure");
      delete source.dataset.sure;
      say(words);
    }, 4000);
    return false;
  }

  function documentTree(element, trigger, watch, props, events) {
    nameUploads();
    panel(element, trigger, watch, props, events, { local: { remove: asksAgain, document: () => showReader(true) } });
  }

  /** Gradio's upload button is called by other words than those that it shows; speech input needs the same. */
  function nameUploads() {
    const shelf = byId("shelf");
    const name = () => {
      const button = shelf.querySelector("#files button.upload-container, #files button[aria-dropeffect]");
      const words = button && button.textContent.replace(/\s+/g, " ").trim();
      if (words && button.getAttribute("aria-label") !== words) button.setAttribute("aria-label", words);
    };
    new MutationObserver(name).observe(shelf, { childList: true, subtree: true });
    name();
  }

  /** On a narrow page the reader lies over the tree. */
  function showReader(shown) {
    document.body.classList.toggle("show-reader", shown);
    return true;
  }

  function reader(element, trigger, watch, props, events) {
    watch("value", () => {
      const current = element.querySelector(".pages > section.current");
      const pages = element.querySelector(".pages");
      if (pages) pages.scrollTop = current ? current.offsetTop - pages.offsetTop - 8 : 0;
      showReader(true);
    });
    actions(element, trigger, events, { remove: asksAgain, back: () => void showReader(false) });
  }

  /** Runs of evaluations: exactly two marked ones can be compared, the older one first. */
  function runs(element, trigger, watch, props, events) {
    const marked = () => [...element.querySelectorAll("input[name=pick]:checked")];
    element.addEventListener("change", () => {
      const submit = element.querySelector("button[type=submit]");
      if (submit) submit.disabled = marked().length !== 2;
    });
    actions(element, trigger, events, {
      compare: () => {
        const [newer, older] = marked().map((input) => input.value); // the list has the newest first
        if (older) trigger("compare", { before: older, after: newer });
      },
    });
  }

  /** Beside the picture of the graph: clicks on circles come here, too. */
  function graphPanel(element, trigger, watch, props, events) {
    panel(element, trigger, watch, props, events, { local: { close: () => trigger("whole", { dark: isDark() }) } });
    const bind = () => {
      const plot = document.querySelector("#picture .js-plotly-plot");
      if (!plot || plot.dataset.bound || !plot.on) return;
      plot.dataset.bound = "yes";
      plot.on("plotly_click", (event) => {
        const [kind, id] = event.points[0].customdata || [];
        if (kind) trigger("node", { kind, id });
      });
    };
    const holder = byId("picture");
    if (holder) new MutationObserver(bind).observe(holder, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
    window.addEventListener("graph-agent-theme", () => trigger("theme", { dark: isDark() }));
    if (!props.value) trigger("whole", { dark: isDark() });
  }

  // ---------------------------------------------------------------- the whole page

  /** The theme as it is, or as it is about to be: parts of the page begin before the header has set it. */
  function isDark() {
    const wanted = localStorage.getItem("graph-agent-theme");
    return wanted ? wanted === "dark" : document.body.classList.contains("dark");
  }

  function setTheme(dark) {
    document.body.classList.toggle("dark", dark);
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    window.dispatchEvent(new CustomEvent("graph-agent-theme", { detail: { dark } }));
  }

  function header(element, trigger, watch, props) {
    if (localStorage.getItem("graph-agent-theme")) setTheme(isDark());
    document.documentElement.style.colorScheme = document.body.classList.contains("dark") ? "dark" : "light";
    element.addEventListener("click", (event) => {
      const source = event.target.closest("[data-do]");
      if (!source) return;
      if (source.dataset.do === "theme") {
        const dark = !isDark();
        localStorage.setItem("graph-agent-theme", dark ? "dark" : "light");
        setTheme(dark);
      } else if (source.dataset.do === "list") {
        document.body.classList.toggle("show-list");
      }
    });
  }

  /** Do something when a panel can show it: what is sent to one that is just being made may be lost. */
  function whenStarted(id, deed, tries = 100) {
    if (document.querySelector(`#${id} [data-started]`) || !tries) deed();
    else setTimeout(whenStarted, 50, id, deed, tries - 1);
  }

  const isTyping = (target) => target.closest("input, textarea, select, [contenteditable=true]");

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest("#cypher")) {
      event.preventDefault();
      whenStarted("result", () => byId("run").click());
      return;
    }
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const stop = document.querySelector("#question .stop-button");
      if (stop) stop.click();
      else if (document.body.classList.contains("show-list")) document.body.classList.remove("show-list");
      else {
        const close = document.querySelector("#evidence [data-do=close]");
        if (close) close.click();
      }
    } else if (event.key === "/" && !isTyping(event.target) && box()) {
      event.preventDefault();
      focusBox();
    }
  });

  return { conversations, documentTree, evidence, feed, graphPanel, header, judged, live, panel, reader, runs };
})();
