"""Small documents written by hand, so that each test shows what it is about."""
