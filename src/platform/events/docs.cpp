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
- `event_id` is the same wherever and however often an event is delivered. Numbers never change
  either, but after the service was restored from a backup a number may be given again, to another
  event: then the id tells.
- A key hears what its scope hears: `rental`, `funding` and `withdrawal` are for renters,
  `hosting`, `machine`, `offer` and `payout` for hosts, the rest for both. A session hears all of
  its account.
- Events are kept for 30 days (`operations.events_kept_days`).

## Pages

`GET /api/v1/events?after=41&types=rental.*,machine.silent&subject=ID&limit=50&wait_s=30` answers
`{items, next_cursor, through, oldest, newest}`, oldest first. `through` says up to which number
nothing is missing for this filter: go on with `after=through`, whether or not there were items.
With `wait_s` an answer without items waits for the next event, up to 30 seconds. An `after` that
is not between `oldest - 1` and `newest` is 409 `EVENTS_EXPIRED` with `current{oldest, newest}`:
read what things are now, and go on from there. In a terminal: `berth events --follow`.

## Streams

`GET /api/v1/events/stream` sends server-sent events (`text/event-stream`), with the same filters:
`id:` is the number, `event:` the type, `data:` the event. The header `Last-Event-ID` wins over
`after`; without both the stream begins now. Every 15 seconds a bare `id:` moves the client's
place on and dispatches nothing. What is refused is refused by an envelope before the first byte.
Later the server says why it ends, by one event `end` with `{"reason": "credential_ended" |
"server_stops" | "events_expired"}`. A stream ends within a second when its key or session does,
and keeps no idle session alive. An account has at most 20 streams at a server (429), a server
10,000 (503). Whoever reads slowly is served from the table when there is room again; whoever takes
nothing for 30 seconds is cut off, and goes on at its number.

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
    writeFileSync('place.new', after), renameSync('place.new', 'place');
    if (page.error && !page.current) throw page.error;
} catch { await new Promise((done) => setTimeout(done, 2000)); }
```

```python
import json, os, time, urllib.error, urllib.request
after = open("place").read() if os.path.exists("place") else "0"
while True:
    url = f"{os.environ['BERTH_SERVER']}/api/v1/events?after={after}&wait_s=30"
    key = {"Authorization": "Bearer " + os.environ["BERTH_API_KEY"]}
    ask = urllib.request.Request(url, headers=key)
    try: page = json.load(urllib.request.urlopen(ask, timeout=60))
    except urllib.error.HTTPError as error: page = json.load(error); time.sleep(2)
    except OSError: time.sleep(2); continue
    for event in page.get("items", []): print(json.dumps(event), flush=True)
    after = page.get("through") or page.get("current", {}).get("newest") or after
    open("place.new", "w").write(after); os.replace("place.new", "place")
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

// Of a heading, as pages of Markdown make it.
std::string anchor_of(std::string_view type) {
    std::string anchor(type);
    std::erase(anchor, '.');
    return anchor;
}

}  // namespace

std::string to_markdown(const Registry& registry) {
    std::string text(beginning);
    text += "\n| type | for | about | told when |\n| --- | --- | --- | --- |\n";
    for (const auto& [type, kind] : registry.kinds())
        text += fmt::format("| [`{}`](#{}) | {} | {} | {} |\n", type, anchor_of(type),
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
