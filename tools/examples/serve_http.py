"""A trained model as an HTTP service of this machine: the body of a POST is a text, and the answer is JSON. A text of
several lines has a list of answers; for generate it is one text.

    python3 serve_http.py translate build/demo-model 8080
    curl --data-binary "I have a cat" localhost:8080          {"result": "我有一只猫"}

The verb is a method of glim.Model: translate, generate or classify. tools/examples/service.md says more.
"""
import http.server
import json
import sys

import glim

LONGEST = 65536  # bytes of a text
verb, folder, port = sys.argv[1:]
answer = getattr(glim.load(folder), verb)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            length = int(self.headers.get("Content-Length", 0))
            if not 0 < length <= LONGEST:
                raise ValueError(f"the body must have 1 to {LONGEST} bytes")
            text = self.rfile.read(length).decode().strip()
            lines = text.splitlines() if verb != "generate" else [text]
            status, found = 200, {"result": answer(lines if len(lines) > 1 else text)}
        except (glim.Error, ValueError) as error:  # also a text that is not UTF-8
            status, found = 400, {"error": str(error).split("\n")[0]}
        body = json.dumps(found, ensure_ascii=False).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("localhost", int(port)), Handler)  # threads share the model
print(f"http://localhost:{server.server_port}", flush=True)
server.serve_forever()
