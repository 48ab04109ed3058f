"""The conclusion of a run as text: before and after, contradictions, doubts about the logs, and the nine questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.finding_text import finding_text
from steelyard.cli.terminal import print_table

if TYPE_CHECKING:
    from steelyard.identify.estimate import Estimate

CONTRADICTIONS = 5  # printed; the report lists all
EQUATIONS = 12  # of the table before and after: a humanoid has fifty, and the worst are what matters


def print_before_and_after(estimate: Estimate) -> None:
    """What description and estimate leave unexplained of held-out blocks; nothing where there are none."""
    from steelyard.output.report.words import percent

    evidence = estimate.evidence
    if evidence.pooled is None:
        return
    worst = sorted(evidence.held_out, key=lambda name: -evidence.held_out[name].identified)[:EQUATIONS]
    rows = [(name, h) for name, h in evidence.held_out.items() if name in worst] + [("all equations", evidence.pooled)]
    header = ["unexplained, held-out blocks", "by the description", "identified"]
    print_table(header, [[name, percent(h.description), percent(h.identified)] for name, h in rows])
    if (more := len(evidence.held_out) - len(worst)) > 0:
        print(f"and {more} more equations, less unexplained")


def print_contradictions(estimate: Estimate) -> None:
    """Where the data contradict the description, the largest first."""
    for contradiction in estimate.contradictions[:CONTRADICTIONS]:
        print(f"description: {contradiction}")
    if (more := len(estimate.contradictions) - CONTRADICTIONS) > 0:
        print(f"description: and {more} more")


def print_doubts(estimate: Estimate, verb: str) -> None:
    """What the diagnosis of the logs doubts, each with its fix and flag."""
    for finding in estimate.findings or ():
        if finding.severity != "note":
            print(f"doubtful: {finding_text(finding, verb)}")


def print_questions(estimate: Estimate) -> None:
    """The nine questions with their answers, figures and limits."""
    from steelyard.identify.verdict import answer_questions
    from steelyard.output.question_text import question_figure, question_limit

    rows = []
    for q in answer_questions(estimate):
        result = q.result if q.result == "pass" else q.result.upper()
        rows.append([q.question, result, question_figure(q.code, q.figure), question_limit(q.code, q.limit)])
    print_table(["question", "result", "figure", "limit"], rows)
