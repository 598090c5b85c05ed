"""Requests: every form is read, written back, and refused with cause and remedy when malformed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.errors import InputRefused, ResourceError
from sublimate.request import FORMS, FullClass, RandomFraction, Records, SubClass, parse

# A name as the request line can carry it: no comma, no percent sign, no blanks around it.
names = st.text(st.characters(exclude_characters=",%", exclude_categories=["C", "Z"]), min_size=1)
percents = st.integers(1, 100)


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("class:cat", FullClass("cat")),
        ("class:cat,truck", FullClass("cat", "truck")),
        ("class: cat , truck ,", FullClass("cat", "truck")),
        ("class:traffic light", FullClass("traffic light")),
        ("class:a:b", FullClass("a:b")),
        ("class:automobile@90%", SubClass("automobile", 0.9)),
        ("class:automobile@0.5%", SubClass("automobile", 0.005)),
        ("class:user@home@50%", SubClass("user@home", 0.5)),
        ("class:cat@100%", SubClass("cat", 1.0)),
        ("random@10%", RandomFraction(0.1)),
        ("random@1e-1%", RandomFraction(0.001)),
        ("random@100%", RandomFraction(1.0)),
        ("id:7,19", Records("7", "19")),
        ("id:cats/one.png", Records("cats/one.png")),
        ("id:007", Records("007")),
    ],
)
def test_every_form_is_read(text, request_):
    assert parse(text) == request_


@settings(deadline=None)
@given(st.lists(names, min_size=1, max_size=5), names, percents)
def test_what_is_written_is_read_back(many, name, percent):
    whole = FullClass(*many)
    assert parse(whole.text) == whole
    for share in (SubClass(name, percent / 100), RandomFraction(percent / 100)):
        assert parse(share.text) == share
    records = Records(*dict.fromkeys(many))
    assert parse(records.text) == records


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1))
def test_names_and_ids_given_twice_count_once_in_their_order(given_names):
    once = [name for place, name in enumerate(given_names) if name not in given_names[:place]]
    assert FullClass(*given_names).names == tuple(once)
    assert Records(*given_names).ids == tuple(once)
    assert Records(*given_names).repeated == len(given_names) - len(once)


def test_requests_are_values():
    assert len({FullClass("cat"), FullClass("cat"), SubClass("cat", 0.5), RandomFraction(0.5), Records("cat")}) == 4
    with pytest.raises(AttributeError):
        FullClass("cat").names = ("dog",)


def test_scenarios_have_the_papers_names():
    requests = FullClass("cat"), SubClass("cat", 0.9), RandomFraction(0.1), Records("7")
    assert [r.scenario for r in requests] == ["full-class", "sub-class", "random", "records"]


def test_long_lists_of_records_are_shortened():
    assert Records(*"abcde").text == "id:a,b,c,d,e"
    assert Records(*"abcdef").text == "6 records"


@pytest.mark.parametrize(
    "text",
    [
        *("", "cat", "class", "class:", "class:,", "class: , ", "Class:cat", "klass:cat"),
        *("id:", "id: ,", "ids:", "record:7"),
        *("random", "random:10%", "random@10", "random@%", "random10%", "random@10% ", "random@10%,class:cat"),
    ],
)
def test_what_cannot_be_read_is_refused_with_all_forms(text):
    with pytest.raises(InputRefused) as refused:
        parse(text)
    assert refused.value.cause == f"The request {text!r} cannot be read."
    assert refused.value.remedy == f"Write one of: {FORMS}."


@pytest.mark.parametrize("number", ["0", "-5", "100.1", "ten", "nan", "inf", "1e-400"])
@pytest.mark.parametrize("form", ["random@{}%", "class:cat@{}%"])
def test_a_share_lies_above_0_and_at_most_at_100(form, number):
    text = form.format(number)
    with pytest.raises(InputRefused, match="no share between 0 and 100 %") as refused:
        parse(text)
    assert repr(text) in refused.value.cause


def test_ids_come_from_a_file_one_a_line(tmp_path):
    file = tmp_path / "withdrawn.txt"
    file.write_bytes("# letter of 3 May\n7\n\n  19  # Ann\r\nKätzchen/eins 1.png\n7\n   \n#7\n".encode())
    assert parse(f"ids:{file}") == Records("7", "19", "Kätzchen/eins 1.png", "7")
    assert parse(f"ids:{file}").repeated == 1


def test_a_file_without_a_line_end_counts_whole(tmp_path):
    file = tmp_path / "one"
    file.write_text("7")
    assert parse(f"ids:{file}") == Records("7")


def test_a_byte_order_mark_is_no_part_of_the_first_id(tmp_path):
    file = tmp_path / "marked.txt"
    file.write_text("7\n19\n", encoding="utf-8-sig")
    assert parse(f"ids:{file}") == Records("7", "19")


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(InputRefused) as refused:
        parse(f"ids:{tmp_path / 'none.txt'}")
    assert refused.value.cause == f"There is no file {tmp_path / 'none.txt'}."
    assert "one record id a line" in refused.value.remedy


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\xff", b"7\n\xff\xfe"])
def test_a_binary_file_is_refused_by_name(tmp_path, content):
    file = tmp_path / "photo.png"
    file.write_bytes(content)
    with pytest.raises(InputRefused, match=r"photo\.png is not a text file"):
        parse(f"ids:{file}")


def test_a_folder_is_refused_by_name(tmp_path):
    with pytest.raises(InputRefused, match="is not a text file"):
        parse(f"ids:{tmp_path}")


@pytest.mark.parametrize("below", ["list.txt/more.txt", "a" * 5000, "a\0b"])
def test_a_path_that_cannot_be_is_refused(tmp_path, below):
    (tmp_path / "list.txt").write_text("7")
    with pytest.raises(InputRefused):
        parse(f"ids:{tmp_path / below}")


def test_a_file_that_may_not_be_read_says_so(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ResourceError, match=r"secret\.txt may not be read"):
        parse("ids:secret.txt")


@pytest.mark.parametrize("content", ["", "\n\n", "# nobody\n  # at all\n"])
def test_a_file_that_names_no_record_is_refused(tmp_path, content):
    file = tmp_path / "empty.txt"
    file.write_text(content)
    with pytest.raises(InputRefused, match="names no record"):
        parse(f"ids:{file}")


def test_an_id_may_hold_a_number_sign(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("x#1\n# all\ny#2 # why\n  #3\nz\t#4\n")
    assert parse(f"ids:{file}").ids == ("x#1", "y#2", "z")


def test_a_line_that_is_a_known_id_is_that_id(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("cats/kitty #1.png\n7 # Ann\n # all\n lead\n#2\n")
    assert parse(f"ids:{file}", ids=("cats/kitty #1.png", "7", " lead", "#2")).ids == (
        "cats/kitty #1.png",
        "7",
        " lead",
        "#2",
    )
    assert parse(f"ids:{file}").ids == ("cats/kitty", "7", "lead")


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("class:d,og@50%", SubClass("d,og", 0.5)),
        ("class: d,og @50%", SubClass("d,og", 0.5)),
        ("class: lead", FullClass(" lead")),
        ("class: lead@10%", SubClass(" lead", 0.1)),
        ("class: lead, cat", FullClass(" lead", "cat")),
        ("class: cat", FullClass("cat")),
    ],
)
def test_names_with_commas_and_blanks_are_found(text, request_):
    assert parse(text, classes=("d,og", " lead", "cat")) == request_


def test_an_id_with_blanks_is_found():
    assert parse("id: 7", ids=(" 7", "7")) == Records(" 7")
    assert parse("id: 7", ids=("7",)) == Records("7")


def test_a_text_that_is_one_known_name_is_that_name():
    assert parse("class:cat,dog", classes=("cat,dog", "cat")) == FullClass("cat,dog")
    assert parse("class:b@50%", classes=("b@50%", "b")) == FullClass("b@50%")
    assert parse("id:7,8", ids=("7,8", "7", "8")) == Records("7,8")
    assert parse("id:7,8", ids=("7", "8")) == Records("7", "8")
