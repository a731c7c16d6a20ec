"""What a repository has around its code agrees with it."""

import os
import re

from relay.version import VERSION
from support import ROOT


def test_the_version_is_the_same_everywhere() -> None:
    for name, line in (
        ("pyproject.toml", f'version = "{VERSION}"'),
        ("CITATION.cff", f"version: {VERSION}"),
    ):
        assert line in (ROOT / name).read_text().splitlines(), name


def test_a_release_has_notes() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    dated = re.compile(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)")
    assert headings[0] == "Unreleased" or dated.fullmatch(headings[0])
    assert all(map(dated.fullmatch, headings[1:]))


def test_jobs_call_scripts_that_run_anywhere() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    commands = re.findall(r"- run: (.*)$", workflow, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        script = ROOT / command.split()[0]
        assert os.access(script, os.X_OK), command
    (parts,) = re.findall(r"part: \[(.*)\]", workflow)
    extras = (ROOT / ".ci" / "run-extras").read_text()
    (every,) = re.findall(r'parts=" \$\{\*:-(.*)\} "', extras)
    assert parts.split(", ") == every.split()


def test_the_versions_of_python_are_those_that_are_declared() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    (jobs,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (sessions,) = re.findall(r"python=\[(.*)\]", (ROOT / "noxfile.py").read_text())
    assert jobs.replace('"', "").split(", ") == declared
    assert sessions.replace('"', "").split(", ") == declared
