"""The findings of compare_backward."""

import json
from html import escape


class KernelReport:
    """True if no check failed and none is undecided. print(report) shows all of it, and so does a notebook.

    verdicts   dict from the name of each check to "passed", "failed", "undecided" or "not applicable"
    place      where the gradient is wrong: (input, text), or None
    box        the same in numbers: (the input's number, ((begin, end) of each axis)), or None
    probe      the inputs that show it
    left_out   probes at which the reference is not finite
    mistake    what the gradient's mistake looks like in float32 on a small shape, or None
    """

    def __init__(self, data):
        self._data = data
        self.verdicts = {name: check["verdict"] for name, check in data["checks"].items()}
        self.place, self.probe = data["place"] and tuple(data["place"]), data["probe"]
        self.box = data["box"] and (data["box"][0], tuple(map(tuple, data["box"][1])))
        self.left_out, self.mistake = data["left_out"], data["mistake"]

    @property
    def verdict(self):
        found = set(self.verdicts.values())
        return "failed" if "failed" in found else "undecided" if "undecided" in found else "passed"

    def __bool__(self):
        return self.verdict == "passed"

    def __repr__(self):
        return f"<{str(self).splitlines()[0]}>"

    def __str__(self):
        data, verdict = self._data, "FAILED" if self.verdict == "failed" else self.verdict
        place = f": {self.place[0]}{'' if self.place[1].startswith('[') else ' '}{self.place[1]}" if self.place else ""
        shown = f", shown by {self.probe!r}" if self.place and self.probe != 'as given' else ""
        lines = [f"backward of {data['name']} in {data['dtype']}: {verdict}{place}{shown}"]
        if self.mistake:
            lines.append(f"  in float32 at {data['small']}: {self.mistake}")
        for name, check in data["checks"].items():
            lines.append(f"  {name:<16}{check['verdict']:<16}{check['detail']}")
        lines += [f"  {note}" for note in data["notes"]]
        return "\n".join(lines)

    def to_json(self):
        """The report as JSON text."""
        return json.dumps(self._data, ensure_ascii=False)

    def to_junit(self):
        """The checks as a JUnit file, one case each."""
        cases = []
        for name, check in self._data["checks"].items():
            inner = {"failed": "<failure message=\"{}\"/>", "undecided": "<failure type=\"undecided\" message=\"{}\"/>",
                     "not applicable": "<skipped message=\"{}\"/>"}.get(check["verdict"], "").format(escape(check["detail"]))
            cases.append(f'<testcase classname="{escape(self._data["name"])}" name="{escape(name)}">{inner}</testcase>')
        failures = sum(v in ("failed", "undecided") for v in self.verdicts.values())
        skipped = sum(v == "not applicable" for v in self.verdicts.values())
        return (f'<testsuite name="compare_backward" tests="{len(cases)}" failures="{failures}" skipped="{skipped}">'
                + "".join(cases) + "</testsuite>")

    def _repr_html_(self):
        from .._html import page
        return page(bool(self), str(self), self._data)
