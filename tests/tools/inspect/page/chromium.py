"""A page in headless Chromium, driven over the DevTools protocol's pipe.

The page is opened from disk, with networking off, in a window of a chosen width (Chromium's own
windows have at least 500 px, so narrower ones are those of an emulated device). Everything that
goes wrong in it is kept: exceptions, the console's errors and warnings, requests.

Protocol: https://chromedevtools.github.io/devtools-protocol/ (--remote-debugging-pipe: messages
of JSON, each ended by a zero byte, on the file descriptors 3 and 4).
"""
import json
import os
import select
import shutil
import subprocess

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def leave_without():
    """Ends a test where there is no Chromium: as a test in which nothing ran."""
    if not PROGRAM:
        print("No tests ran: no chromium on this machine (tools/setup --checks installs it)")
        raise SystemExit(0)


def faint(page):
    """The texts of a page whose contrast is too low (contrast.js), and how many were read."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "contrast.js"), encoding="utf-8") as script:
        return page.evaluate(script.read())


class Page:
    """with Page("a.html", 390, folder) as page: page.evaluate("1 + 1")

    answers(text) is what the page's prompt(text) gives. A page that gives no answer for ten minutes hangs.
    """

    def __init__(self, path, width, folder, height=900, answers=None):
        self.errors, self.requests, self.answers = [], [], answers
        self.count, self.rest = 0, b""
        to_read, self.to = os.pipe()
        self.frm, from_write = os.pipe()

        def pipes():  # the descriptors may be 3 or 4 themselves: copies first
            a, b = os.dup(to_read), os.dup(from_write)
            a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             # A test turns controls faster than a person; each writes the page's address.
             "--disable-ipc-flooding-protection", "--proxy-server=127.0.0.1:9", f"--user-data-dir={folder}/profile-{width}",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.session = None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                  uploadThroughput=-1)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.loaded = False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.frm)

    def evaluate(self, expression):
        """The value of the expression in the page; its exception is raised here."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def picture(self, path):
        import base64
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def send(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        return self.count

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.frm], [], [], 600)
            data = os.read(self.frm, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("Chromium gives no answer" if not ready else "Chromium ended")
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, p):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.send("Page.handleJavaScriptDialog", accept=True, promptText=self.answers(p["message"]))
        elif method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.errors.append("error: " + d.get("exception", {}).get("description", d["text"]))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.errors.append(p["type"] + ": " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.errors.append(p["entry"]["level"] + ": " + p["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("data:", "blob:")):
            self.requests.append(p["request"]["url"])
