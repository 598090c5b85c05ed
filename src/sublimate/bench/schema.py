"""What an experiment file says, as types: settings by edition, methods, and the figures that the paper printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, model_validator

from .kinds import (
    EDITIONS,
    Budget,
    Count,
    Declared,
    EditionName,
    Few,
    Finite,
    Id,
    Kind,
    Measure,
    Name,
    Preset,
    Scenario,
    Text,
)
from .remarks import Remark


class Case(Declared):
    """What is trained and what is forgotten, in one edition."""

    data: Name
    request: Name
    model: Name
    recipe: Name
    views: Name
    few: Few
    epochs: Count | None = None  # the recipe's own
    seeds: Count | None = None  # at most so many training seeds
    original: Name | None = None  # path of a network that somebody else trained: then there is no Retrain
    batch_size: Count | None = None


class Setting(Declared):
    """One scenario, with a case for every edition in which it exists."""

    scenario: Scenario
    smoke: Case | None = None
    cpu: Case | None = None
    paper: Case | None = None

    def case(self, edition: EditionName) -> Case | None:
        """What this edition trains and forgets, if the setting exists there."""
        found: Case | None = getattr(self, edition)
        return found

    @property
    def keys(self) -> tuple[str, ...]:
        """Under what `reported` may name the setting, the most telling first; the paper's case counts."""
        case = self.paper or self.cpu or self.smoke
        return (f"{self.scenario}@{case.views}@{case.model}", self.scenario) if case else ()

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not self.keys:
            raise ValueError(f"a setting needs at least one of {', '.join(EDITIONS)}")
        return self


class Method(Declared):
    """One line of the table: a method, its values, and what the paper printed for it."""

    name: Name
    label: Name
    preset: Preset = "auto"
    only: Annotated[tuple[EditionName, ...], Field(strict=False, min_length=1)] = EDITIONS
    views: Annotated[tuple[Name, ...] | None, Field(strict=False)] = None  # only settings with these
    options: dict[str, Any] = Field(alias="set", default_factory=dict)
    editions: dict[EditionName, dict[str, Any]] = Field(default_factory=dict)  # options that differ by edition
    few: Budget | None = None
    reported: dict[str, dict[Measure, Finite]] = Field(default_factory=dict)
    audited: bool = True

    def chosen(self, edition: EditionName) -> dict[str, Any]:
        """The options in this edition."""
        return self.options | self.editions.get(edition, {})

    def budget(self, case: Case) -> Budget | None:
        """How many retained records it may read: its own, the case's for siamese; None: what the method asks for."""
        if self.few is not None:
            return self.few
        return case.few if self.name.startswith("siamese") else None

    def belongs(self, edition: EditionName, case: Case) -> bool:
        """Whether the method is run on this case; a network of somebody else's cannot be trained again."""
        if self.name == "retrain" and case.original:
            return False
        return edition in self.only and (self.views is None or case.views in self.views)


class Experiment(Declared):
    """A declared experiment: what `sublimate bench` runs and what its tables show."""

    id: Id
    title: Name
    source: Text = ""
    kind: Kind = "scores"
    note: Text = ""
    contaminated: dict[str, Text] = Field(default_factory=dict)  # by setting, how the paper's Retrain saw D_f
    remarks: Annotated[tuple[Remark, ...], Field(strict=False)] = ()
    measures: Annotated[tuple[Measure, ...], Field(strict=False)] = ()
    settings: Annotated[tuple[Setting, ...], Field(strict=False, min_length=1)]
    methods: Annotated[tuple[Method, ...], Field(strict=False, min_length=1)]
    _text: str = PrivateAttr("")
    _folder: Path = PrivateAttr(Path())

    @property
    def text(self) -> str:
        """The file it was read from, as it stands."""
        return self._text

    @property
    def folder(self) -> Path:
        """Where the file lies: presets and originals are found from here."""
        return self._folder

    def pairs(self, edition: EditionName) -> Iterator[tuple[Setting, Case, Method]]:
        """What the edition runs: each method on each of its settings, in the order of the file."""
        for setting in self.settings:
            if case := setting.case(edition):
                yield from ((setting, case, method) for method in self.methods if method.belongs(edition, case))

    def reported(
        self, label: str, *, edition: EditionName, scenario: str, data: str, model: str, views: str
    ) -> Mapping[Measure, float]:
        """What the paper printed for this line of this setting; empty where it printed nothing."""
        keys = self.keys(edition=edition, scenario=scenario, data=data, model=model, views=views)
        printed = next((method.reported for method in self.methods if method.label == label), {})
        return next((printed[key] for key in keys if key in printed), {})

    def keys(self, *, edition: EditionName, scenario: str, data: str, model: str, views: str) -> tuple[str, ...]:
        """Under what `reported` names a setting that was run; empty where none is like it."""
        wanted = (scenario, data, model, views)
        for setting in self.settings:
            case = setting.case(edition)
            if case and (setting.scenario, case.data, case.model, case.views) == wanted:
                return setting.keys
        return ()

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        labels = [method.label for method in self.methods]
        if twice := {label for label in labels if labels.count(label) > 1}:
            raise ValueError(f"two methods have the label {min(twice)!r}")
        keys = {key for setting in self.settings for key in setting.keys}
        named = {
            "reported": {key for method in self.methods for key in method.reported},
            "contaminated": set(self.contaminated),
            "a remark": {key for remark in self.remarks for key in remark.settings},
        }
        for where, found in named.items():
            if wrong := found - keys:
                raise ValueError(f"{where} names the setting {min(wrong)!r}, known are {', '.join(sorted(keys))}")
        if unheard := {label for remark in self.remarks for label in remark.labels} - set(labels):
            raise ValueError(f"a remark names the label {min(unheard)!r}, known are {', '.join(labels)}")
        return self

    @model_validator(mode="after")
    def _settings_differ(self) -> Self:
        for edition in EDITIONS:
            cases = [(s.scenario, c.data, c.model, c.views) for s in self.settings if (c := s.case(edition))]
            if len(set(cases)) < len(cases):
                raise ValueError(f"two settings of the edition {edition} have the same scenario, data, model and views")
        return self
