"""The door of the pages: logins on every route, files that are not handed out, other sites, proxies, uploads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from page_driver import Serving, Site

from graph_agent.errors import ConfigurationError
from graph_agent.store import DocumentGraph
from graph_agent.ui.server import PageServer
from graph_agent.ui.users import Users, add_user, remove_user

PASSWORD = "correct horse"
Serve = Callable[..., Site]


@pytest.fixture
def serve(engine: DocumentGraph, tmp_path: Path) -> Iterator[Serve]:
    """Start servers over a graph without documents."""
    graph = engine.select("pages-access")
    with ExitStack() as stack:

        def started(**options: Any) -> Site:
            changes = {"data": tmp_path / "data", "port": 0, "upload_mb": 1, **options.pop("settings", {})}
            return stack.enter_context(Serving(graph, settings=changes, **options))

        yield started
    graph.drop()


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.json"
    add_user(path, "ada", PASSWORD)
    add_user(path, "bo", PASSWORD + "2")
    return path


@pytest.fixture
def guarded(serve: Serve, users: Path) -> Site:
    """A server with logins."""
    return serve(users=Users(users), shared=True)


def log_in(site: Site, name: str = "ada", password: str = PASSWORD) -> httpx.Client:
    client = httpx.Client(base_url=site.url)
    answer = client.post("login", data={"name": name, "password": password})
    assert answer.status_code == 303, answer.text
    return client


def paths_of(app: Any, prefix: str = "") -> set[str]:
    """Paths of every route of an application, mounted and included ones too, parameters filled in."""
    found: set[str] = set()
    for route in getattr(app, "routes", ()):
        path = prefix + str(getattr(route, "path", ""))
        if getattr(route, "routes", None):
            found |= paths_of(route, path.rstrip("/"))
        inner = getattr(route, "original_router", None) or getattr(
            getattr(route, "app", None), "router", None
        )
        if inner is not None and inner is not app:
            found |= paths_of(inner, path.rstrip("/"))
        found.add(path)
    return {path for path in found if path}


def filled(path: str) -> str:
    """A path with something in the place of its parameters."""
    pieces = path.split("{")
    return pieces[0] + "".join("x" + piece.partition("}")[2] for piece in pieces[1:])


def test_no_route_answers_a_stranger(guarded: Site) -> None:
    paths = {filled(path) for path in paths_of(guarded.server.application)}
    assert len(paths) > 60  # Gradio's own are among them
    assert {"/gradio_api/queue/join", "/gradio_api/heartbeat/x", "/config", "/theme.css"} <= paths
    with httpx.Client(base_url=guarded.url) as client:
        for path in sorted(paths):
            for method in ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"):
                answer = client.request(method, path.lstrip("/"))
                if path == "/login" and method in {"GET", "POST"}:
                    continue
                expected = {303} if path.rstrip("/") == "/logout" and method == "POST" else {401, 405}
                assert answer.status_code in expected, (method, path, answer.status_code)
                assert len(answer.content) < 100, (method, path)
        assert client.get("", headers={"accept": "text/html"}).headers["location"] == "/login"


def test_the_login_page_loads_nothing_else(guarded: Site) -> None:
    page = httpx.get(f"{guarded.url}login").text
    assert "<form" in page
    assert not any(word in page for word in ("<script", "<link", "<img", "src=", "url("))


def test_a_login_opens_the_page_and_a_logout_closes_it(guarded: Site) -> None:
    with closing(log_in(guarded)) as client:
        cookie = next(iter(client.cookies.jar))
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "Lax"
        assert client.get("").status_code == 200
        assert client.get("config").json()["username"] == "ada"
        assert client.post("logout").status_code == 303
        assert client.get("config").status_code == 401


def test_wrong_logins_are_refused_and_slowed_down(guarded: Site) -> None:
    with httpx.Client(base_url=guarded.url) as client:
        for name, password in (
            ("ada", "wrong"),
            ("nobody", PASSWORD),
            ("", ""),
            ("ada", ""),
            ("ada", "x" * 2_000),
        ):
            answer = client.post("login", data={"name": name, "password": password})
            assert answer.status_code == 401
            assert "Name or password is wrong" in answer.text
        answer = client.post("login", data={"name": "ada", "password": PASSWORD})
        assert answer.status_code == 429
        assert client.post("login", content=b"x" * 100_000).status_code in {413, 429}


def test_a_removed_user_is_out_at_once(guarded: Site, users: Path) -> None:
    with closing(log_in(guarded, "bo", PASSWORD + "2")) as client:
        assert client.get("config").status_code == 200
        remove_user(users, "bo")
        assert client.get("config").status_code == 401


def test_a_new_password_ends_what_was_begun_with_the_old_one(guarded: Site, users: Path) -> None:
    with closing(log_in(guarded)) as client:
        assert client.get("config").status_code == 200
        add_user(users, "ada", "battery staple")
        assert client.get("config").status_code == 401
    log_in(guarded, "ada", "battery staple").close()


def test_forged_and_foreign_cookies_are_nothing(guarded: Site) -> None:
    for value in ("", "x", "ada", "a" * 10_000, '"; DROP TABLE'):
        headers = {"cookie": f"graph_agent_session={value}"}
        assert httpx.get(f"{guarded.url}config", headers=headers).status_code == 401


def test_conversations_are_apart_per_user(guarded: Site) -> None:
    store = guarded.workspace.conversations
    secret = store.start("ada", "Ada's secret")
    store.ask("ada", "What is the secret?", {}, conversation=secret.id)
    with closing(log_in(guarded)) as ada, closing(log_in(guarded, "bo", PASSWORD + "2")) as bo:
        assert "Ada's secret" in ada.get(f"pages/conversations/{secret.id}.md").text
        assert bo.get(f"pages/conversations/{secret.id}.md").status_code == 404
        for client, sees in ((ada, True), (bo, False)):
            shown = load_page(client, f"?c={secret.id}")
            assert ("Ada&#39;s secret" in shown) is sees
            assert ("What is the secret?" in shown) is sees


def load_page(client: httpx.Client, query: str = "") -> str:
    """What the page is filled with when it is opened, as JSON text."""
    config = client.get("config").json()
    load = next(
        one for one in config["dependencies"] if any(target[1] == "load" for target in one["targets"])
    )
    body = {
        "data": [],
        "fn_index": load["id"],
        "session_hash": "test",
        "event_data": None,
        "trigger_id": None,
    }
    joined = client.post(f"gradio_api/queue/join{query}", json=body)
    assert joined.status_code == 200, joined.text
    with client.stream("GET", "gradio_api/queue/data", params={"session_hash": "test"}) as stream:
        for line in stream.iter_lines():
            message = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
            if message.get("msg") == "process_completed":
                assert message["success"], message
                return json.dumps(message["output"], ensure_ascii=False)
    raise AssertionError("the page was not filled")


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/file=/etc/passwd",
        "gradio_api/file/etc/passwd",
        "gradio_api/file=../../../../etc/passwd",
        "gradio_api/file=%2Fetc%2Fpasswd",
        "gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
        "gradio_api/file=file:///etc/passwd",
        "gradio_api/file=C:/Windows/win.ini",
        "gradio_api/file=https://example.com/",
        "gradio_api/proxy=http://127.0.0.1:1/",
        "gradio_api/stream/x/x/x/playlist-file",
        "gradio_api/custom_component/x/client/component/..%2f..%2findex.js",
        "gradio_api/deep_link",
        "gradio_api/runs",
        "gradio_api/vibe-code",
        "monitoring",
        "static/../../../../etc/passwd",
        "static/%2e%2e/%2e%2e/routes.py",
        "static/..%2f..%2froutes.py",
        "assets/..%2f..%2f..%2froutes.py",
        "svelte/..%2f..%2froutes.py",
        "pages/assets/../access.py",
        "pages/assets/..%2faccess.py",
        "pages/assets/%2e%2e/access.py",
        "pages/assets//etc/passwd",
        "pages/conversations/..%2f..%2fusers.json.md",
        "pages/results/..%2fx.csv",
        "docs",
        "openapi.json",
    ],
)
def test_no_file_of_the_server_is_handed_out(serve: Serve, path: str) -> None:
    site = serve()
    answer = raw_get(site, path)
    assert answer.status_code in {400, 401, 403, 404, 405, 422}, answer.text[:200]
    assert "root:" not in answer.text
    assert "def " not in answer.text


def raw_get(site: Site, path: str) -> httpx.Response:
    """A GET whose path is sent as it is written, dots and all."""
    base = httpx.URL(site.url)
    return httpx.get(base.copy_with(raw_path=f"/{path}".encode()))


def test_other_names_and_other_sites_are_refused(serve: Serve) -> None:
    site = serve()
    assert httpx.get(site.url, headers={"host": "evil.example"}).status_code == 403
    assert httpx.get(site.url, headers={"host": f"localhost:{httpx.URL(site.url).port}"}).status_code == 200
    join = f"{site.url}gradio_api/queue/join"
    assert httpx.post(join, json={}, headers={"origin": "http://evil.example"}).status_code == 403
    assert httpx.post(join, json={}, headers={"origin": "null"}).status_code == 403
    assert httpx.post(join, json={}, headers={"origin": site.url.rstrip("/")}).status_code in {400, 422}


def test_the_page_forbids_scripts_and_addresses_of_others(serve: Serve) -> None:
    answer = httpx.get(serve().url)
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["img-src"] == "'self' data: blob:"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe-inline" not in policy["script-src"]
    nonce = policy["script-src"].partition("'nonce-")[2].partition("'")[0]
    assert answer.text.count("<script") == answer.text.count(f'<script nonce="{nonce}"')
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (
        httpx.get(str(answer.url)).headers["content-security-policy"]
        != answer.headers["content-security-policy"]
    )


def test_a_proxys_prefix_may_be_kept_or_taken_off(serve: Serve) -> None:
    site = serve(root_path="/papers")
    for path in ("", "papers/"):
        page = httpx.get(f"http://127.0.0.1:{httpx.URL(site.url).port}/{path}")
        assert page.status_code == 200
        assert '"root":"http://127.0.0.1' in page.text.replace(" ", "")
        assert "/papers" in page.text
    assert site.url.endswith("/papers/")
    assert httpx.get(f"{site.url}pages/assets/app.js").status_code == 200
    assert httpx.get(f"{site.url}config").json()["root"].endswith("/papers")


def test_an_upload_that_is_too_large_is_refused(serve: Serve) -> None:
    site = serve()
    small = httpx.post(f"{site.url}gradio_api/upload", files={"files": ("a.md", b"# A")})
    assert small.status_code == 200
    large = httpx.post(f"{site.url}gradio_api/upload", files={"files": ("b.md", b"x" * 1_200_000)})
    assert large.status_code == 413
    staging = site.workspace.staging
    assert Path(small.json()[0]).resolve().is_relative_to(staging.resolve())


def test_an_address_that_others_reach_needs_logins(serve: Serve, users: Path) -> None:
    workspace = serve().workspace
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(ConfigurationError, match="no users file") as caught:
            PageServer(workspace, host=host, port=0)
        assert caught.value.exit_code == 2
        assert "graph-agent user add" in str(caught.value)
    server = PageServer(workspace, host="0.0.0.0", port=0, users=Users(users))
    assert server.url.startswith("http://127.0.0.1:")
    server.stop()


def test_a_taken_port_is_named_with_the_way_out(serve: Serve) -> None:
    site = serve()
    port = httpx.URL(site.url).port
    with pytest.raises(ConfigurationError) as caught:
        PageServer(site.workspace, port=port)
    assert f"Port {port} on 127.0.0.1 is in use." in str(caught.value)
    assert "--port" in caught.value.fix


@pytest.mark.parametrize("root_path", ["papers", "/a//b", "/a?b", "/a b", "http://x/y", "/a<b"])
def test_a_root_path_that_is_none(serve: Serve, root_path: str) -> None:
    with pytest.raises(ConfigurationError, match="not usable"):
        PageServer(serve().workspace, port=0, root_path=root_path)


def test_nothing_calls_outside_at_the_start(engine: DocumentGraph, tmp_path: Path) -> None:
    script = """
        import json, pathlib, sys
        seen = []
        def hook(event, arguments):
            if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
                seen.append([event, str(arguments[-1] if event != "socket.getaddrinfo" else arguments[0])])
        sys.addaudithook(hook)
        import httpx
        from graph_agent.settings import load_settings
        from graph_agent.store import DocumentGraph
        from graph_agent.ui.server import PageServer
        from graph_agent.ui.workspace import Workspace
        settings = load_settings(data=pathlib.Path(sys.argv[1]), port=0, model="", falkordb_url="")
        with DocumentGraph.open(settings, name="quiet") as graph:
            workspace = Workspace(settings, graph)
            with PageServer(workspace) as server:
                assert httpx.get(server.url).status_code == 200
                workspace.tools, workspace.corpus()
            workspace.close()
        print(json.dumps(seen))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(engine.settings.data)],
        capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path,
        env={**os.environ, "GRADIO_ANALYTICS_ENABLED": "True"},
    )  # fmt: skip
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert seen  # the engine's socket and our own request, at least
    outside = [
        one for one in seen if "127.0.0.1" not in one[1] and ".sock" not in one[1] and "engine" not in one[1]
    ]
    assert outside == []
