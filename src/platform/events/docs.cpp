#include "events/docs.hpp"

#include <fmt/format.h>

#include "base/enum_names.hpp"
#include "wire/schema.hpp"

namespace berth::events {
namespace {

constexpr std::string_view beginning = R"(# Events

Made by `berthd events docs`; a test holds this page to the program.

Whatever of consequence happens to an account is told as an event. The events of an account are
one stream, numbered 1, 2, 3 without gaps, in the order in which things happened. A program that
was away goes on at its number, by any way of reading, and misses nothing.

```json
{"event_id": "0198f2a0-7c11-7d52-8a2e-5f0c9b1d3e47", "sequence": "42", "type": "rental.running",
 "timestamp": "2026-11-17T10:00:00Z", "data": {},
 "subject": {"kind": "rental", "id": "0198f2a0-6f3e-7c1a-9d43-2f5b8c7e1a90"}}
```

- `data` has the facts of this change, by the names of the API: members as they were at that
  moment, at most 4 KiB, and never a key, a token, an access detail or the other party's id.
  Members may be added; what you do not know, ignore.
- `event_id` is the same wherever and however often an event is delivered. A number is never given
  to another event. After the service was restored from a backup all numbers are far above those of
  before: whoever goes on is told once, by `EVENTS_EXPIRED`, that his number is not there.
- A key hears what its scope hears: `rental`, `funding` and `withdrawal` are for renters,
  `hosting`, `machine`, `offer` and `payout` for hosts, the rest for both. A session hears all of
  its account.
- Events are kept for 30 days (`operations.events_kept_days`).

## Pages

`GET /api/v1/events?after=41&types=rental.*,machine.silent&subject=ID&limit=50&wait_s=30` answers
`{items, next_cursor, through, oldest, newest}`, oldest first. `through` says up to which number
nothing is missing for this filter: go on with `after=through`, whether or not there were items.
With `wait_s` an answer without items waits for the next event, up to 30 seconds; when its filter
has left out a hundred events it comes at once. An `after` that is not between `oldest - 1` and
`newest` is 409 `EVENTS_EXPIRED` with `current{oldest, newest}`: read what things are now, and go on
from there. In a terminal: `berth events --follow`.

## Streams

`GET /api/v1/events/stream` sends server-sent events (`text/event-stream`), with the same filters:
`id:` is the number, `event:` the type, `data:` the event. The header `Last-Event-ID` wins over
`after`; without both the stream begins now. Every 15 seconds a bare `id:` moves the client's
place on and dispatches nothing. What is refused is refused by an envelope before the first byte.
Later the server says why it ends, by one event `end` with `{"reason": "credential_ended" |
"server_stops" | "events_expired"}`. A stream ends within a second when its key or session does,
and keeps no idle session alive: of one that becomes idle it ends within a minute. An account has
at most 20 streams at a server (429), a server 10,000 (503). Whoever reads slowly is served from the
table when there is room again; whoever takes nothing for 30 seconds is cut off, and goes on at its
number.

## Webhooks

`POST /api/v1/webhooks {url, types[], enabled, from}` has events posted to you. `from` is `now`,
or the number after which it begins: `through` of a page, the last `id` of a stream. In a
terminal: `berth webhooks create`. A session needs a fresh step-up, a key does not; the webhook of
a key hears what the key hears, is seen by it and by sessions of its account, and ends with it:
nothing leaves for it a second later.

- A delivery is one event, the same bytes as in a page, in the order of its numbers and one at a
  time: what follows waits until it was taken. It is signed as [Standard
  Webhooks](https://www.standardwebhooks.com) has it: `webhook-id` is the `event_id`, the same in
  every attempt, `webhook-timestamp` the time of the attempt, `webhook-signature` `v1,…`. The
  secret (`whsec_…`) is shown once, when it is made; `POST …/{id}/rotate-secret` makes another,
  and for 24 hours both sign.
- Any status from 200 to 299 means that it was taken; answer soon, within 15 seconds, and do the
  work afterwards. No redirection is followed. A receiver that is killed between its work and its
  answer, or a server that is killed before it noted an answer, brings an event again: know it by
  its `event_id`.
- No answer, 5xx, 408, 425 or 429: it is tried again after 5 seconds, doubling to an hour, or
  after your `Retry-After` (an hour at most). After an hour you are told by mail
  (`webhook.failing`), after 72 hours it is disabled (`webhook.disabled`); `PATCH …/{id}
  {"enabled": true}` goes on where it stopped, and is 409 `EVENTS_EXPIRED` where that is not kept
  any more: then `from` says where. 410 disables at once. Any other status: five attempts in a
  quarter of an hour, then this one event is given up and the line goes on.
- No number is passed over in silence: where events that a webhook had yet to send are not kept any
  more (its account was suspended for longer, say), it is disabled (`events_expired`). Read what
  things are now, and let it go on by `from`.
- `GET …/{id}/deliveries` has the attempts of the last 7 days with the beginning of what you
  answered. `POST …/{id}/test` sends a `webhook.test`, `POST …/{id}/redeliver {sequence}` an event
  once more.
- The target is a public address over TLS, port 443 or above 1023, without a user or password, and
  never this service or one of its gates; that is judged at every attempt, and the judged address
  is the one that is dialled. An account has at most 10 webhooks.

A receiver in TypeScript, with the library `standardwebhooks`:

```ts receiver
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';
const webhook = new Webhook(process.env.BERTH_WEBHOOK_SECRET ?? '');
createServer(async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    try { console.log(JSON.stringify(webhook.verify(body, Object.fromEntries(headers)))); }
    catch { return response.writeHead(400).end(); }
    response.writeHead(204).end(); // once it is kept: what was answered well does not come again
}).listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? '::');
```

And in Python, with nothing but its own library:

```python receiver
import base64, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer
KEY = base64.b64decode(os.environ["BERTH_WEBHOOK_SECRET"].removeprefix("whsec_"))
class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        name, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        body = self.rfile.read(int(self.headers["content-length"]))
        mac = base64.b64encode(hmac.digest(KEY, f"{name}.{at}.".encode() + body, "sha256"))
        given = self.headers["webhook-signature"].encode().split()
        good = any(hmac.compare_digest(b"v1," + mac, each) for each in given)
        good = good and abs(time.time() - int(at)) < 300
        if good: print(json.dumps(json.loads(body)), flush=True)
        self.send_response(204 if good else 400); self.end_headers()
PLACE = os.environ.get("HOST", ""), int(os.environ.get("PORT", "8080"))
HTTPServer(PLACE, Receiver).serve_forever()
```

## Mail

What goes wrong is mailed to people, and how transfers, refunds and disputes ended: the types of
the table below whose mail is `now`. `PUT /api/v1/account/notices {"types": {"rental.running":
"digest", "machine.silent": "off"}}` chooses by type: `now`, `digest` (once a day, with others) or
`off`; what is left out is as by default, and `GET` shows all. More than five mails in ten minutes
become one. Security notices and answers to tickets are always mailed; fewer mails about withdrawals
and payouts take a fresh step-up. Agents have no mailbox.

## Operators

Operators have `GET /api/v1/admin/events` and `/api/v1/admin/events/stream`, with what they should
know of.

## A consumer that loses nothing

Both keep the number after what they did with an event, so that neither their own `kill -9` nor
the server's loses one; one that was killed in between sees an event again, by the same
`event_id`.

```ts
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
const headers = { authorization: `Bearer ${process.env.BERTH_API_KEY}` };
for (let after = existsSync('place') ? readFileSync('place', 'utf8') : '0'; ; ) try {
    const path = `/api/v1/events?after=${after}&wait_s=30`;
    const page = await (await fetch(process.env.BERTH_SERVER + path, { headers })).json();
    for (const event of page.items ?? []) console.log(JSON.stringify(event));
    after = page.through ?? page.current?.newest ?? after; // current: too old, look at what is now
    writeFileSync(`place.${process.pid}`, after), renameSync(`place.${process.pid}`, 'place');
    if (page.error && !page.current) throw page.error;
} catch { await new Promise((done) => setTimeout(done, 2000)); }
```

```python
import http.client, json, os, time, urllib.error, urllib.request
after = open("place").read() if os.path.exists("place") else "0"
while True:
    url = f"{os.environ['BERTH_SERVER']}/api/v1/events?after={after}&wait_s=30"
    key = {"Authorization": "Bearer " + os.environ["BERTH_API_KEY"]}
    ask = urllib.request.Request(url, headers=key)
    try:
        try: answer = urllib.request.urlopen(ask, timeout=60)
        except urllib.error.HTTPError as error: answer = error; time.sleep(2)
        page = json.load(answer)
    except (OSError, ValueError, http.client.HTTPException): time.sleep(2); continue
    for event in page.get("items", []): print(json.dumps(event), flush=True)
    after = page.get("through") or page.get("current", {}).get("newest") or after
    open(new := f"place.{os.getpid()}", "w").write(after); os.replace(new, "place")
```

## Types
)";

std::string_view audience_words(Audience audience) {
    switch (audience) {
        case Audience::renter: return "renter";
        case Audience::host: return "host";
        case Audience::both: return "both";
        case Audience::operators: break;
    }
    return "operators";
}

std::string_view mail_words(const DeclaredKind& kind) {
    if (kind.audience == Audience::operators) return "";
    switch (kind.mail) {
        case Mail::now: return "now";
        case Mail::digest: return "digest";
        case Mail::apart: return "always";
        case Mail::off: break;
    }
    return "off";
}

// Of a heading, as pages of Markdown make it.
std::string anchor_of(std::string_view type) {
    std::string anchor(type);
    std::erase(anchor, '.');
    return anchor;
}

}  // namespace

std::string to_markdown(const Registry& registry) {
    std::string text(beginning);
    text += "\n| type | for | about | mail | told when |\n| --- | --- | --- | --- | --- |\n";
    for (const auto& [type, kind] : registry.kinds())
        text +=
            fmt::format("| [`{}`](#{}) | {} | {} | {} | {} |\n", type, anchor_of(type),
                        audience_words(kind.audience), kind.subject, mail_words(kind), kind.about);
    for (const auto& [type, kind] : registry.kinds()) {
        text += fmt::format("\n### {}\n\n{}\n\n```json\n{}```\n", type, kind.about,
                            wire::indented(example_of(kind)));
        std::string rows;
        for (const wire::Member& member : kind.facts->members) {
            const wire::Doc* doc = wire::doc_of(*kind.facts, member.name);
            if (doc != nullptr && !doc->text.empty())
                rows += fmt::format("| `{}` | {} |\n", member.name, doc->text);
        }
        if (!rows.empty()) text += "\n| member of `data` | |\n| --- | --- |\n" + rows;
    }
    return text;
}

}  // namespace berth::events
