"""How the page looks: one palette, checked for contrast by a test, and the styles for screen and paper."""

from __future__ import annotations

INK, PAPER, QUIET, RULE, PANEL = "#1a1d21", "#ffffff", "#51585f", "#d5dade", "#f5f7f8"

FAILED, INCONCLUSIVE, EXCLUDED = "#b3261e", "#8a5300", "#5c646c"
PASSED, RUNNING, PENDING = "#1b6e3c", "#5346b5", "#7a828a"

SCALE = ("#fff0b3", "#b9d98a", "#6fbf97", "#3a95a0", "#2a6790", "#1b3868")
"""Classes of a figure, the worst first; they differ in lightness, so that they can be told apart in grey."""

VERDICTS = {"Passed": PASSED, "Failed": FAILED, "Incomplete": INCONCLUSIVE}
STATES = {
    "Failed": FAILED,
    "ValidationFailed": FAILED,
    "Succeeded": PASSED,
    "Running": RUNNING,
    "Pending": PENDING,
}
"""Colours of groups by state; what is written in them is written on white."""

TERMS = {
    "productive": "#2a6f97",
    "lost": FAILED,
    "resume": "#c27c0e",
    "save": "#6f58b8",
    "reschedule": "#9aa2a9",
}
"""Colours of the terms of goodput."""

LINES = ("#b3261e", "#8a5300", "#5346b5", "#00708a", "#a0307a")
"""Colours of single groups in a chart, each of them labelled too."""


def css() -> str:
    """Return the style sheet."""
    classes = "".join(f".c{number}{{fill:{colour}}}" for number, colour in enumerate(SCALE))
    terms = "".join(f".g-{name}{{fill:{colour}}}" for name, colour in TERMS.items())
    return f"{_BASE}{classes}{terms}{_PICTURES}{_PRINT}"


_BASE = f"""
:root{{color-scheme:light}}
*{{box-sizing:border-box}}
body{{margin:0;background:{PAPER};color:{INK};font:15px/1.5 system-ui,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}}
main,header,nav,footer{{max-width:1120px;margin:0 auto;padding:0 24px}}
header{{padding-top:28px}}
h1{{font-size:26px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}}
h2{{font-size:19px;margin:40px 0 8px;padding-top:12px;border-top:1px solid {RULE}}}
h3{{font-size:15px;margin:20px 0 6px}}
p{{margin:6px 0;max-width:86ch}}
a{{color:#0b5394}}
.quiet{{color:{QUIET}}}
.verdict{{display:inline-block;padding:3px 12px;border-radius:4px;color:{PAPER};font-weight:600;font-size:17px}}
.v-Passed{{background:{PASSED}}}.v-Failed{{background:{FAILED}}}.v-Incomplete{{background:{INCONCLUSIVE}}}
.v-none{{background:{EXCLUDED}}}
ul.why{{margin:10px 0;padding-left:20px}}
ul.why li{{overflow-wrap:anywhere}}
.tiles{{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0;padding:0;list-style:none}}
.tiles li{{min-width:104px;padding:8px 14px;background:{PANEL};border:1px solid {RULE};border-radius:6px}}
.tiles b{{display:block;font-size:21px;line-height:1.3}}
.note{{padding:8px 14px;border-left:4px solid {INCONCLUSIVE};background:{PANEL};margin:8px 0;overflow-wrap:anywhere}}
nav ul{{display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:12px 0 0;list-style:none}}
.wide{{overflow-x:auto}}
table{{border-collapse:collapse;width:100%;font-size:13.5px;margin:8px 0}}
caption{{text-align:left;color:{QUIET};padding:4px 0}}
th,td{{text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-bottom:1px solid {RULE};overflow-wrap:break-word}}
th[scope=row]{{min-width:8em;max-width:24em;overflow-wrap:anywhere}}
td.names{{min-width:13em;max-width:30em;overflow-wrap:anywhere}}
td.why{{min-width:16em;overflow-wrap:anywhere}}
thead th{{border-bottom:2px solid {QUIET};vertical-align:bottom}}
.num{{text-align:right;font-variant-numeric:tabular-nums}}
td.num{{white-space:nowrap}}
.s-Failed,.s-ValidationFailed,.s-failed{{color:{FAILED};font-weight:600}}
.s-inconclusive{{color:{INCONCLUSIVE};font-weight:600}}.s-excluded,.s-unknown{{color:{EXCLUDED};font-weight:600}}
.s-Succeeded,.s-succeeded{{color:{PASSED}}}.s-Running,.s-running{{color:{RUNNING}}}
.s-Pending,.s-pending{{color:{QUIET}}}
details{{margin:8px 0}}
summary{{cursor:pointer;padding:3px 0;font-weight:600}}
pre{{background:{PANEL};border:1px solid {RULE};border-radius:4px;padding:10px 12px;margin:6px 0;overflow:auto;max-height:420px;font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace;white-space:pre}}
a:focus-visible,summary:focus-visible,pre:focus-visible{{outline:3px solid #0b5394;outline-offset:2px}}
footer{{margin-top:48px;padding-bottom:32px;border-top:1px solid {RULE};padding-top:12px}}
"""  # noqa: E501 - a rule a line

_PICTURES = f"""
figure{{margin:12px 0}}
figcaption{{color:{QUIET};font-size:13.5px;max-width:86ch}}
svg{{display:block;max-width:100%;height:auto;overflow:visible}}
svg text{{font:12px system-ui,sans-serif;fill:{INK}}}
svg .axis{{stroke:{QUIET};stroke-width:1;fill:none}}
svg .grid{{stroke:{RULE};stroke-width:1;fill:none}}
svg .small{{font-size:11px;fill:{QUIET}}}
.band{{fill:#c9dbe8}}.inner{{fill:#9dbfd6}}
.median{{fill:none;stroke:#2a6f97;stroke-width:2}}
.t{{fill:none;stroke:{FAILED};stroke-width:1.5;stroke-dasharray:6 4}}
.one{{fill:none;stroke-width:1.75}}
svg.spark{{max-width:none}}
.spark .l{{fill:none;stroke:#2a6f97;stroke-width:3;stroke-linejoin:round}}
.spark .t{{stroke-width:2;stroke-dasharray:8 6}}
.domains{{display:flex;flex-wrap:wrap;gap:8px 18px;align-items:flex-start}}
.domain{{margin:0}}
.domain figcaption{{font-size:12px;line-height:1.3;color:{INK};max-width:290px;overflow-wrap:anywhere}}
.cells rect{{width:15px;height:15px}}
.cells .c0,.legend .c0{{stroke:{INCONCLUSIVE}}}
.n-failed{{fill:{FAILED}}}.n-excluded{{fill:url(#hatch);stroke:{EXCLUDED}}}
.n-inconclusive{{fill:{PAPER};stroke:{INCONCLUSIVE};stroke-width:2}}
.n-unknown{{fill:{PAPER};stroke:{EXCLUDED};stroke-dasharray:3 2}}
.n-running{{fill:{PAPER};stroke:{RUNNING}}}.n-pending{{fill:{PANEL};stroke:{PENDING};stroke-dasharray:2 2}}
.n-succeeded{{fill:{PASSED}}}
.mark{{stroke:{PAPER};stroke-width:2;fill:none}}
.legend{{display:flex;flex-wrap:wrap;gap:4px 16px;padding:0;margin:6px 0;list-style:none;font-size:13px}}
.legend li{{display:flex;align-items:center;gap:6px}}
.charts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:12px 20px}}
.b-Failed,.b-ValidationFailed{{fill:{FAILED}}}.b-Succeeded{{fill:#2a6f97}}.b-Running{{fill:{RUNNING}}}
.b-Pending{{fill:{PENDING}}}
.a-failed{{fill:{FAILED}}}.a-ended{{fill:#9dbfd6;stroke:#2a6f97}}.a-running{{fill:#cfcaf0;stroke:{RUNNING}}}
.hide{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
"""

_PRINT = f"""
@media print{{
body{{font-size:10.5pt}}
nav{{display:none}}
main,header,footer{{max-width:none;padding:0}}
.wide{{overflow:visible}}
pre{{max-height:none;overflow:visible;white-space:pre-wrap;overflow-wrap:anywhere}}
thead{{display:table-header-group}}
tr,figure,.domain,.tiles li{{break-inside:avoid}}
h2,h3{{break-after:avoid}}
a{{color:{INK};text-decoration:none}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
@page{{margin:14mm}}
}}
"""
