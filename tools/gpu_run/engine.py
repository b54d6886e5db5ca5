#!/usr/bin/env python3
"""A real engine for the run on a GPU machine without network: a Llama of the given size with random
weights, generated on the card token by token, behind the OpenAI paths that the relay passes on.

What it says is noise, and it takes as long as sense would.

usage: engine.py --port N [--layers N] [--hidden N] [--plant GIB]
  --plant GIB  also fills that much of the card's memory with the word 0x4252544855524E21, to be looked
               for after the job was cleaned
"""

import argparse
import asyncio
import json
import time

import torch
from aiohttp import web
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 32_000
PLANTED = 0x4252544855524E21


def load(layers: int, hidden: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=hidden * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 128,
        num_key_value_heads=hidden // 128,
        max_position_embeddings=4096,
    )
    torch.manual_seed(7)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).eval()


def encode(text: str) -> list[int]:
    return [byte + 1 for byte in text.encode()] or [1]


def decode(token: int) -> str:
    return chr(32 + token % 95)


class Engine:
    def __init__(self, model: LlamaForCausalLM, name: str):
        self.model = model
        self.name = name
        self.card = asyncio.Lock()

    @torch.inference_mode()
    def step(self, tokens: torch.Tensor, past):
        out = self.model(input_ids=tokens, past_key_values=past, use_cache=True)
        return out.logits[:, -1].argmax(dim=-1, keepdim=True), out.past_key_values

    async def generate(self, prompt: str, count: int):
        tokens = torch.tensor([encode(prompt)], device="cuda")
        past = None
        for _ in range(count):
            async with self.card:
                tokens, past = await asyncio.to_thread(self.step, tokens, past)
            yield decode(int(tokens))

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.name, "object": "model"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        prompt = "\n".join(str(message.get("content", "")) for message in asked["messages"])
        count = int(asked.get("max_tokens") or 64)
        if not asked.get("stream"):
            text = "".join([piece async for piece in self.generate(prompt, count)])
            return web.json_response(self.answer("chat.completion", prompt, count, {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "length",
            }))
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        async for piece in self.generate(prompt, count):
            event = self.answer("chat.completion.chunk", None, 0, {
                "index": 0, "delta": {"content": piece}, "finish_reason": None})
            await stream.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        last = self.answer("chat.completion.chunk", prompt, count, {
            "index": 0, "delta": {}, "finish_reason": "length"})
        await stream.write(b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n")
        return stream

    def answer(self, kind: str, prompt: str | None, count: int, choice: dict) -> dict:
        answer = {"id": "chat-1", "object": kind, "created": int(time.time()),
                  "model": self.name, "choices": [choice]}
        if prompt is not None:
            asked = len(encode(prompt))
            answer["usage"] = {"prompt_tokens": asked, "completion_tokens": count,
                               "total_tokens": asked + count}
        return answer


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--layers", type=int, default=16)
    options.add_argument("--hidden", type=int, default=2048)
    options.add_argument("--plant", type=int, default=0)
    given = options.parse_args()
    model = load(given.layers, given.hidden)
    planted = torch.full((given.plant << 27,), PLANTED, dtype=torch.int64, device="cuda")
    parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{parameters / 1e9:.2f} billion random weights on {torch.cuda.get_device_name()}, "
          f"{planted.numel()} planted words", flush=True)
    engine = Engine(model, f"random-{parameters // 1_000_000}m")
    app = web.Application(client_max_size=1 << 21)
    app.router.add_get("/v1/models", engine.models)
    app.router.add_get("/health", engine.models)
    app.router.add_post("/v1/chat/completions", engine.chat)
    web.run_app(app, host="127.0.0.1", port=given.port, print=None)


if __name__ == "__main__":
    main()
