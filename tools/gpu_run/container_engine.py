#!/usr/bin/env python3
"""The engine of the run in a container: the model of engine.py behind the OpenAI paths that the relay
passes on, and a page that speaks to it by a websocket. It needs Python's own library and, for a card,
what engine.py needs. Without PyTorch it is a toy that says so, for a rehearsal.

usage: container_engine.py --port N [--plant GIB]
"""

import argparse
import base64
import hashlib
import json
import os
import signal
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"""<!doctype html><meta charset="utf-8"><title>A page of a rental</title><pre id="said"></pre>
<script>
const socket = new WebSocket((location.protocol === 'https:' ? 'wss://' : 'ws://') + location.host + '/ws');
socket.onopen = () => socket.send('hello');
socket.onmessage = (event) => { document.getElementById('said').textContent += event.data + '\\n'; };
</script>
"""
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
FRAME_BYTES_MAX = 1 << 20


class Card:
    """A Llama with random weights on the card, one token at a time."""

    def __init__(self, plant_gib: int):
        import torch
        from engine import PLANTED, decode, encode, load

        self.torch, self.encode, self.decode = torch, encode, decode
        self.model = load(layers=16, hidden=2048)
        self.planted = torch.full((plant_gib << 27,), PLANTED, dtype=torch.int64, device="cuda")
        self.lock = threading.Lock()
        self.name = torch.cuda.get_device_name()

    def generate(self, prompt: str, count: int):
        torch, past = self.torch, None
        tokens = torch.tensor([self.encode(prompt)], device="cuda")
        for _ in range(count):
            with self.lock, torch.inference_mode():
                out = self.model(input_ids=tokens, past_key_values=past, use_cache=True)
                tokens, past = out.logits[:, -1].argmax(dim=-1, keepdim=True), out.past_key_values
            yield self.decode(int(tokens))

    def state(self) -> str:
        used = self.torch.cuda.memory_allocated() >> 20
        return f"{self.name}, {used} MiB in use"


class Toy:
    name = "toy"

    def generate(self, prompt: str, count: int):
        yield from ("This is a toy, not a language model. " * 8)[:count]

    def state(self) -> str:
        return "no card"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Card | Toy

    def log_message(self, *_):
        pass

    def answer(self, kind: str, body: bytes, status: int = 200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/ws":
            return self.speak()
        if self.path == "/":
            return self.answer("text/html; charset=utf-8", PAGE)
        if self.path in ("/health", "/v1/models"):
            models = {"object": "list", "data": [{"id": self.engine.name, "object": "model"}]}
            return self.answer("application/json", json.dumps(models).encode())
        self.answer("application/json", b"{}", 404)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path != "/v1/chat/completions":
            return self.answer("application/json", b"{}", 404)
        prompt = "\n".join(str(message.get("content", "")) for message in asked["messages"])
        count = int(asked.get("max_tokens") or 64)
        usage = {"prompt_tokens": len(prompt), "completion_tokens": count,
                 "total_tokens": len(prompt) + count}
        base = {"id": "chat-1", "created": int(time.time()), "model": self.engine.name}
        if not asked.get("stream"):
            text = "".join(self.engine.generate(prompt, count))
            choice = {"index": 0, "message": {"role": "assistant", "content": text},
                      "finish_reason": "length"}
            whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.answer("application/json", json.dumps(whole).encode())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

        def event(delta: dict, **more):
            chunk = {**base, "object": "chat.completion.chunk",
                     "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

        for piece in self.engine.generate(prompt, count):
            event({"content": piece})
        event({}, usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    # RFC 6455, as much of it as a page needs.
    def speak(self):
        key = self.headers.get("Sec-WebSocket-Key", "")
        if self.headers.get("Upgrade", "").lower() != "websocket" or not key:
            return self.answer("text/plain", b"a websocket is spoken here\n", 426)
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(proof).decode())
        self.end_headers()
        self.close_connection = True
        while (frame := self.frame()) is not None:
            kind, data = frame
            if kind == CLOSE:
                return self.say(CLOSE, data)
            if kind == PING:
                self.say(PONG, data)
            if kind == TEXT:
                self.say(TEXT, b"you said " + data + b"; " + self.engine.state().encode())

    def frame(self):
        head = self.rfile.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 127
        if size >= 126:
            size = struct.unpack("!H" if size == 126 else "!Q", self.rfile.read(2 if size == 126 else 8))[0]
        if size > FRAME_BYTES_MAX or not head[1] & 128:
            return None
        mask, data = self.rfile.read(4), self.rfile.read(size)
        return head[0] & 15, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))

    def say(self, kind: int, data: bytes):
        size = struct.pack("!BB", 128 | kind, len(data)) if len(data) < 126 else \
            struct.pack("!BBH", 128 | kind, 126, len(data))
        self.wfile.write(size + data)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--plant", type=int, default=0)
    given = options.parse_args()
    try:
        Handler.engine = Card(given.plant)
    except ImportError:
        Handler.engine = Toy()
    # The first process of a container is ended by no signal that it does not await.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"serving {Handler.engine.state()} as {os.getuid()}", flush=True)
    # All addresses: what is published of a container does not come by its loopback.
    ThreadingHTTPServer(("0.0.0.0", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
