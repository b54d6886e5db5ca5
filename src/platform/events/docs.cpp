#include "events/docs.hpp"

#include <fmt/format.h>

#include "base/enum_names.hpp"
#include "wire/schema.hpp"

namespace berth::events {
namespace {

constexpr std::string_view beginning = R"(# Events

Made by `berthd events docs`; a test holds this page to the program.

Whatever of consequence happens to an account is told as an event. The events of an account are one
stream, numbered 1, 2, 3 without gaps, in the order in which things happened. A program that was away
goes on at its number, by any way of reading, and misses nothing.

```json
{"event_id":"0198f2a0-7c11-7d52-8a2e-5f0c9b1d3e47","sequence":"42","type":"rental.running","timestamp":"2026-11-17T10:00:00Z","subject":{"kind":"rental","id":"0198f2a0-6f3e-7c1a-9d43-2f5b8c7e1a90"},"data":{}}
```

- `data` has the facts of this change, by the names of the API: members as they were at that moment, at
  most 4 KiB, and never a key, a token, an access detail or the other party's id. Members may be added;
  what you do not know, ignore.
- `event_id` is the same wherever and however often an event is delivered. Numbers never change either,
  but after the service was restored from a backup a number may be given again, to another event: then
  the id tells.
- A key hears what its scope hears: `rental`, `funding` and `withdrawal` are for renters, `hosting`,
  `machine`, `offer` and `payout` for hosts, the rest for both. A session hears all of its account.
- Events are kept for 30 days (`operations.events_kept_days`).

## Pages

`GET /api/v1/events?after=41&types=rental.*,machine.silent&subject=ID&limit=50&wait_s=30` answers
`{items, next_cursor, through, oldest, newest}`, oldest first. `through` says up to which number nothing is
missing for this filter: go on with `after=through`, whether or not there were items. With `wait_s` an
answer without items waits for the next event, up to 30 seconds. An `after` that is not between
`oldest - 1` and `newest` is 409 `EVENTS_EXPIRED` with `current{oldest, newest}`: read what things are now,
and go on from there. In a terminal: `berth events --follow`.

## Streams

`GET /api/v1/events/stream` sends server-sent events (`text/event-stream`), with the same filters: `id:` is
the number, `event:` the type, `data:` the event. The header `Last-Event-ID` wins over `after`; without both
the stream begins now. Every 15 seconds a bare `id:` moves the client's place on and dispatches nothing. What
is refused is refused by an envelope before the first byte. Later the server says why it ends, by one event
`end` with `{"reason": "credential_ended" | "server_stops" | "events_expired"}`. A stream ends within a second
when its key or session does, and keeps no idle session alive. An account has at most 20 streams at a
server (429), a server 10,000 (503). Whoever reads slowly is served from the table when there is room again.

Operators have `GET /api/v1/admin/events` and `/api/v1/admin/events/stream`, with what they should know of.

## A consumer that loses nothing

Both keep the number after what they did with an event, so that neither their own `kill -9` nor the
server's loses one; one that was killed in between sees an event again, by the same `event_id`.

```ts
import { readFileSync, writeFileSync } from 'node:fs';
const [base, key] = [process.env.BERTH_SERVER, process.env.BERTH_API_KEY];
let after = '0';
try { after = readFileSync('place', 'utf8'); } catch {}
for (;;) try {
    const answer = await fetch(`${base}/api/v1/events?after=${after}&wait_s=30`, { headers: { authorization: `Bearer ${key}` } });
    const page = await answer.json();
    if (page.current) { after = page.current.newest; continue; } // too old: read what things are now
    for (const event of page.items ?? []) console.log(JSON.stringify(event));
    if (page.through) writeFileSync('place', after = page.through);
} catch { await new Promise((done) => setTimeout(done, 2000)); }
```

```python
import json, os, time, urllib.request, urllib.error
after = open("place").read() if os.path.exists("place") else "0"
while True:
    ask = urllib.request.Request(f"{os.environ['BERTH_SERVER']}/api/v1/events?after={after}&wait_s=30",
                                 headers={"Authorization": "Bearer " + os.environ["BERTH_API_KEY"]})
    try: page = json.load(urllib.request.urlopen(ask, timeout=60))
    except urllib.error.HTTPError as error: page = json.load(error)
    except OSError: time.sleep(2); continue
    for event in page.get("items", []): print(json.dumps(event), flush=True)
    after = page.get("through") or page.get("current", {}).get("newest") or after
    open("place", "w").write(after)
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

}  // namespace

std::string to_markdown(const Registry& registry) {
    std::string text(beginning);
    text += "\n| type | for | about | told when |\n| --- | --- | --- | --- |\n";
    for (const auto& [type, kind] : registry.kinds())
        text += fmt::format(
            "| [`{}`](#{}) | {} | {} | {} |\n", type,
            [&] {
                std::string anchor(type);
                std::erase(anchor, '.');
                return anchor;
            }(),
            audience_words(kind.audience), kind.subject, kind.about);
    for (const auto& [type, kind] : registry.kinds()) {
        text += fmt::format("\n### {}\n\n{}\n\n```json\n{}```\n", type, kind.about,
                            wire::indented(wire::example(*kind.facts)));
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
