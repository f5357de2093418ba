"""Pictures in the page, as SVG made of numbers. Colours come from the style sheet: the policy forbids inline style."""

from __future__ import annotations

import datetime

from markupsafe import Markup, escape

from privjail.curator.spending import Course, Point

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 220, 46, 12, 12, 28


def bar(share: float | None, label: str) -> Markup:
    """How much of a limit is spent. ``label`` is read by screen readers."""
    if share is None:
        return Markup("")
    kind = "full" if share >= 1 else "high" if share >= 0.8 else "low"
    wide = round(100 * min(1.0, max(0.0, share)), 2)
    return Markup(
        f'<svg class="bar {kind}" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">'
        f'<rect class="track" width="100" height="8"/><rect class="fill" width="{wide}" height="8"/></svg>'
    )


def burn_down(course: Course, now: datetime.datetime) -> Markup:
    """What is left of the budget over time: a line of steps from the first entry to now."""
    points = course.points
    if not points:
        return Markup("")
    end = Point(now, points[-1].spent, points[-1].limit)
    line = [*points, end] if now > points[-1].at else points
    first, last = line[0].at, line[-1].at
    span = max(1.0, (last - first).total_seconds())
    most = max(p.limit for p in line) or 1.0

    def x(at: datetime.datetime) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (at - first).total_seconds() / span, 1)

    def y(left: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, left) / most), 1)

    path = f"M{x(line[0].at)} {y(line[0].limit - line[0].spent)}"
    for point in line[1:]:
        path += f"H{x(point.at)}V{y(point.limit - point.spent)}"
    area = f"{path}V{y(0)}H{x(first)}Z"
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(most * part)}" y2="{y(most * part)}"/>'
        f'<text x="{LEFT - 6}" y="{y(most * part) + 4}" text-anchor="end">{most * part:.3g}</text>'
        for part in (0, 0.25, 0.5, 0.75, 1)
    )
    days = "".join(
        f'<text x="{x(at)}" y="{HEIGHT - 8}" text-anchor="{anchor}">{_moment(at, span)}</text>'
        for at, anchor in ((first, "start"), (last, "end"))
    )
    said = f"left of the budget: {end.limit - end.spent:.3g} of {end.limit:.3g}"
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{grid}'
        f'<path class="area" d="{area}"/><path class="line" d="{path}"/>{days}</svg>'
    )


def _moment(at: datetime.datetime, span: float) -> str:
    return at.strftime("%Y-%m-%d") if span > 3 * 86_400 else at.strftime("%m-%d %H:%M")
