"""A page as the tests read it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Parsed(HTMLParser):
    """Elements with their attributes and the text inside them; every tag must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(page)
        assert not self._open, "a tag stays open"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(self.elements[-1])

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, inside in self._open:
            inside.append(data)

    def all(self, *tags: str, **wanted: str) -> list[tuple[dict[str, str | None], str]]:
        named = {name.rstrip("_"): value for name, value in wanted.items()}
        found = [entry for entry in self.elements if entry[0] in tags and named.items() <= entry[1].items()]
        return [(attrs, " ".join("".join(text).split())) for _, attrs, text in found]

    def texts(self, *tags: str, **wanted: str) -> list[str]:
        return [text for _, text in self.all(*tags, **wanted)]
