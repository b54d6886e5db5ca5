// Sends requests that follow openapi.json and requests that break it, several at a time, as several
// callers. What came back feeds what is sent: ids, versions and cursors travel from answers into
// paths, queries and bodies, and recipes help where luck would not. Every answer is held to the
// specification, none may be a fault of the server, and nobody is shown what belongs to another.
import assert from 'node:assert/strict';

// Answers the same numbers for the same seed.
export class Dice {
    constructor(seed) {
        this.state = seed >>> 0;
    }

    number() { // mulberry32, in [0, 1)
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let t = this.state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }

    below(n) {
        return Math.floor(this.number() * n);
    }

    chance(share) {
        return this.number() < share;
    }

    pick(list) {
        return list[this.below(list.length)];
    }

    uuid() {
        const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-`
            + hex.slice(20);
    }
}

const flightsMax = 24; // requests on their way at a time
const findingsMax = 20; // then a run ends
const quietMinutesMax = 4; // in which no request comes to its end
const largeTextLength = 64 * 1024; // answers of which a run needs only a few
const poolMax = 40; // values remembered of one name
const depthMax = 6; // of a made-up body
const oddTexts = ['', ' ', '\u0000', '🦊'.repeat(50), 'a'.repeat(5000), '../../etc/passwd', "'; --",
    '%00', 'null', '-1', '0', '9'.repeat(40), '1e9', 'NaN', '\ud800', '<b>', '{{7*7}}', '\r\nX: y'];
const oddNumbers = [0, -1, 1.5, 1e308, 9007199254740993, -9223372036854775808, 4294967296];
const oddValues = [null, true, [], {}, [[]], { a: { b: { c: {} } } }, [null], ...oddNumbers];
const brokenBodies = ['', '{', '[]', 'null', '"x"', '{"a":1,"a":2}', '{"a":1}}', '\ufeff{}',
    '{"a":\u0001}', '['.repeat(2000), '{"a":'.repeat(200), '{"__proto__":{"x":1}}', '1'.repeat(3000)];

// Names of ids that belong to the account which got them for making something.
const ownIds = new Set(['key_id', 'intent_id', 'address_id', 'binding_id', 'ticket_id', 'job_id',
    'quote_id', 'enrollment_id', 'machine_id', 'transfer_id', 'withdrawal_id', 'payout_id']);

// What has ended stays so: the states that may follow, by the name of the id.
const ends = {
    ticket_id: { closed: ['closed'] },
    dispute_id: { closed: ['closed'] },
    job_id: { STOPPED: ['STOPPED', 'CLOSED'], CLOSED: ['CLOSED'], FAILED: ['FAILED'] },
};

export class Fuzzer {
    // A caller is {name, kind, headers(method)} and perhaps {admin, renew(), machine, browser, avoids},
    // the last being names of operations. `recipes` (by operation)
    // may say what a request needs to succeed; those of `guarded` are sent in no other way.
    constructor({ server, callers, seed, recipes = {}, guarded = [], leftOut = [] }) {
        Object.assign(this, { server, callers, seed, recipes, dice: new Dice(seed) });
        this.document = server.specification.document;
        this.operations = Object.entries(this.document.paths).flatMap(([path, methods]) =>
            Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(),
                ...operation, guarded: guarded.includes(operation.operationId) })))
            .filter(({ operationId }) => !leftOut.includes(operationId));
        for (const operation of this.operations) {
            operation.others = callers.filter((it) => !it.avoids?.includes(operation.operationId));
            operation.callers = operation.others.filter((it) => suits(it, operation));
            operation.parameters = (operation.parameters ?? []).map((it) => this.resolve(it));
            operation.pattern = new RegExp(
                `^${operation.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
        }
        this.pool = new Map(); // name → values seen
        this.own = new Map(); // caller → the same, of what it was answered
        this.owners = new Map(); // id → caller who made it
        this.gone = new Map(); // id → the list that must not show it again, and since when
        this.ended = new Map(); // id → the states it may be in, and since when
        this.large = new Set(); // operations with large answers
        this.market = []; // offers that were listed last
        this.madeTemplates = [];
        this.moment = 0; // counts requests and answers
        this.counts = {};
        this.reached = new Set(); // operations that succeeded
        this.done = 0;
        this.findings = 0;
    }

    async run(requests) {
        const flights = new Set();
        let sent = 0;
        const fly = async () => {
            while (sent < requests && this.findings < findingsMax) {
                const flight = { number: ++sent };
                flights.add(flight);
                await this.once(flight);
                flights.delete(flight);
                ++this.done;
            }
        };
        const flown = Promise.all(Array.from({ length: flightsMax }, fly))
            .then(() => Promise.all(this.callers.map((it) => it.renewing)));
        await Promise.race([flown, this.standstill(requests, flights)]);
        clearInterval(this.watch);
        return this.done;
    }

    // Tells how far the run is, and ends when nothing has come to its end for longer than anything may
    // take. Counted and not measured: a process that is stopped for a while has not stood still.
    standstill(requests, flights) {
        let [doneBefore, quiet] = [0, 0];
        return new Promise((resolve) => {
            this.watch = setInterval(() => {
                console.error(`seed ${this.seed}: ${this.done} of ${requests} done, `
                    + `${this.findings} findings`);
                quiet = this.done === doneBefore ? quiet + 1 : 0;
                doneBefore = this.done;
                if (quiet < quietMinutesMax) return;
                for (const flight of flights) this.report(`${named(flight)}\nnever came to its end`);
                for (const { name } of this.callers.filter((it) => it.renewing)) {
                    this.report(`${name} waits for ever to get in again`);
                }
                resolve();
            }, 60_000);
        });
    }

    async once(flight) {
        try {
            flight.request = await this.make();
            if (flight.request) await this.send(flight.request);
        } catch (error) {
            this.report(`${named(flight)}\n${error.stack}`);
        }
    }

    // What must not have happened is told at once.
    report(what) {
        ++this.findings;
        console.error(`FINDING seed ${this.seed}, ${what}\n`);
    }

    neverReached() {
        return this.operations.map(({ operationId }) => operationId)
            .filter((name) => !this.reached.has(name));
    }

    async make() {
        const { dice } = this;
        let operation = dice.pick(this.operations);
        while (this.large.has(operation) && dice.chance(0.95)) operation = dice.pick(this.operations);
        const { parameters, operationId } = operation;
        const caller = this.callerFor(operation);
        const content = operation.requestBody && this.resolve(operation.requestBody).content;
        this.example = content && Object.values(content)[0].example;
        const recipe = this.recipes[operationId];
        const helped = recipe && (operation.guarded || dice.chance(0.6))
            ? await Promise.resolve(recipe(caller, this)).catch(forgiveLateMail) : undefined;
        if (operation.guarded && !helped) return undefined;
        let path = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(
            helped?.path?.[name] ?? this.pathValue(operation.path, name, parameters, caller)));
        const query = helped?.query ? Object.entries(helped.query)
            : helped ? [] : this.query(parameters);
        if (query.length) path += `?${query.map((pair) => pair.map(encode).join('=')).join('&')}`;
        const headers = { ...caller.headers(operation.method), ...helped?.headers };
        if (dice.chance(0.02)) headers.Authorization = dice.pick(['Bearer x', 'Basic YTpi', 'Bearer ']);
        if (parameters.some((it) => it.name === 'Idempotency-Key')) {
            if (helped || !dice.chance(0.05)) headers['Idempotency-Key'] = this.idempotencyKey();
        }
        const body = content && this.body(content, headers, helped?.body);
        const request = { operation, caller, method: operation.method, path, headers, body };
        caller.machine?.sign(request);
        return request;
    }

    // Mostly one whom the operation is for.
    callerFor({ callers, others }) {
        const { dice } = this;
        const ready = callers.filter((it) => !it.renewing);
        return dice.pick(ready.length && dice.chance(0.8) ? ready : others.filter((it) => !it.renewing));
    }

    query(parameters) {
        const { dice } = this;
        const query = parameters.filter((it) => it.in === 'query' && dice.chance(0.4))
            .map(({ name, schema }) => [name, this.queryValue(name, schema)]);
        if (dice.chance(0.03)) query.push([dice.pick(['x', 'limit', 'cursor']), dice.pick(oddTexts)]);
        return query;
    }

    idempotencyKey() {
        if (this.lastKey && this.dice.chance(0.03)) return this.lastKey; // of another request
        return this.lastKey = this.dice.chance(0.02) ? this.dice.pick(['x', 'k'.repeat(300)])
            : this.dice.uuid();
    }

    body(content, headers, helped) {
        const { dice } = this;
        const [type, { schema, example }] = Object.entries(content)[0];
        headers['Content-Type'] = dice.chance(0.02) ? 'text/plain' : type;
        if (typeof helped === 'string') return helped;
        if (dice.chance(0.05)) return dice.pick(brokenBodies);
        if (helped) return JSON.stringify(dice.chance(0.15) ? this.spoil({ ...helped }) : helped);
        let value = example !== undefined && dice.chance(0.5) ? structuredClone(example)
            : this.value(schema, '', 0);
        if (value !== null && typeof value === 'object') {
            this.fill(value);
            if (dice.chance(0.35)) value = this.spoil(value);
        }
        return JSON.stringify(value);
    }

    // Puts ids and versions that were seen into the members that are called so.
    fill(value) {
        for (const [name, member] of Object.entries(value)) {
            if (member !== null && typeof member === 'object') this.fill(member);
            else if (this.pool.has(name) && this.dice.chance(0.7)) value[name] = this.seen(name);
        }
    }

    spoil(value) {
        const { dice } = this;
        const names = Object.keys(value);
        const name = names.length ? dice.pick(names) : 'x';
        switch (dice.below(4)) {
        case 0: delete value[name]; break;
        case 1: value[name] = dice.pick(oddValues); break;
        case 2: value[name] = dice.pick(oddTexts); break;
        default: value[dice.pick(['extra', '__proto__x', 'id', ''])] = dice.pick(oddValues);
        }
        return value;
    }

    resolve(it) {
        return it.$ref ? it.$ref.slice(2).split('/').reduce((at, name) => at[name], this.document) : it;
    }

    seen(name) {
        return this.dice.pick(this.pool.get(name));
    }

    ownOf(caller, name) {
        return this.own.get(caller)?.get(name) ?? [];
    }

    // "{id}" after ".../machines" is a machine_id, if there is one.
    pathValue(path, name, parameters, caller) {
        const { dice } = this;
        if (dice.chance(0.05)) return dice.pick(oddTexts.filter((text) => text && text !== '\ud800'));
        const before = path.slice(0, path.indexOf(`{${name}}`)).split('/').filter(Boolean).at(-1);
        const thing = before.replace(/(?<=ss)es$|s$/, '');
        const guesses = [thing.replaceAll('-', '_'), thing.split('-').at(-1)].map((it) => `${it}_id`);
        for (const candidate of [name, ...guesses]) {
            const own = this.ownOf(caller, candidate);
            if (own.length && dice.chance(0.6)) return String(dice.pick(own));
            if (this.pool.has(candidate) && dice.chance(0.85)) return String(this.seen(candidate));
        }
        const ids = [...this.pool.keys()].filter((key) => key.endsWith('_id'));
        if (ids.length && dice.chance(0.5)) return String(this.seen(dice.pick(ids)));
        const parameter = parameters.find((it) => it.name === name);
        return String(this.value(parameter?.schema ?? {}, name, depthMax) || 'x');
    }

    queryValue(name, schema) {
        const { dice } = this;
        if (dice.chance(0.15)) return dice.pick(oddTexts);
        if (this.pool.has(name) && dice.chance(0.6)) return this.seen(name);
        return this.value(schema, name, depthMax);
    }

    // Something that the schema allows, mostly.
    value(given, name, depth) {
        const { dice } = this;
        const schema = this.resolve(given);
        if (this.pool.has(name) && dice.chance(0.5)) return this.seen(name);
        if (schema.const !== undefined) return schema.const;
        if (schema.enum) return dice.pick(schema.enum);
        const choices = schema.oneOf ?? schema.anyOf;
        if (choices) return this.value(dice.pick(choices), name, depth + 1);
        if (schema.allOf) return this.value(schema.allOf[0], name, depth + 1);
        const type = Array.isArray(schema.type) ? dice.pick(schema.type) : schema.type;
        switch (type) {
        case 'object': return this.object(schema, depth);
        case 'array': return depth >= depthMax ? [] : Array.from(
            { length: dice.below(3) }, () => this.value(schema.items ?? {}, name, depth + 1));
        case 'boolean': return dice.chance(0.5);
        case 'integer': return this.integer(schema);
        case 'number': return dice.number() * 100;
        case 'null': return null;
        default: return this.text(schema);
        }
    }

    object(schema, depth) {
        const made = {};
        if (depth >= depthMax) return made;
        for (const [name, member] of Object.entries(schema.properties ?? {})) {
            const wanted = schema.required?.includes(name);
            if (wanted || this.dice.chance(0.4)) made[name] = this.value(member, name, depth + 1);
        }
        return made;
    }

    integer({ minimum = 0, maximum = minimum + 1000 }) {
        const { dice } = this;
        return dice.chance(0.2) ? dice.pick([minimum, maximum])
            : minimum + dice.below(Math.min(maximum - minimum, 1e9) + 1);
    }

    text(schema) {
        const { dice } = this;
        if (schema.examples && dice.chance(0.6)) return dice.pick(schema.examples);
        if (schema.example !== undefined && dice.chance(0.6)) return schema.example;
        if (schema.format === 'uuid') return dice.uuid();
        if (schema.format === 'date-time') {
            return new Date(1.7e12 + dice.below(2e9) * 1000).toISOString().replace(/\.\d+/, '');
        }
        if (schema.pattern?.includes('[0-9]') || schema.pattern?.includes('\\d')) {
            return String(dice.below(1e7));
        }
        const length = Math.max(schema.minLength ?? 0, dice.below(Math.min(schema.maxLength ?? 40, 60)));
        return 'abc xyz'.repeat(10).slice(0, length);
    }

    async send({ operation, caller, method, path, headers, body }) {
        const { server } = this;
        const began = ++this.moment;
        const answer = await server.wire.exchange(method, path, headers,
            method === 'GET' ? undefined : body);
        const isJson = answer.headers.get('content-type') === 'application/json';
        answer.body = isJson ? JSON.parse(answer.text) : undefined;
        this.counts[answer.status] = (this.counts[answer.status] ?? 0) + 1;
        if (answer.text.length > largeTextLength) this.large.add(operation);
        assert.ok(answer.status < 500 || answer.status === 503, `a fault: ${answer.text}`);
        // A path that an odd value broke belongs to no route.
        if (operation.pattern.test(path.split('?')[0])) {
            server.specification.checkAs(operation.path, method, answer, path);
        }
        if (answer.status < 300) {
            this.reached.add(operation.operationId);
            if (answer.body) this.learn(answer.body, { operation, caller, began, ...answer });
            this.keep(operation, caller, answer);
            if (method === 'DELETE') this.forget(operation, path);
        }
        const isForCallers = operation.security?.some((it) => it.apiKey || it.session);
        const isOdd = headers.Authorization?.match(/^B\w+ .{0,5}$/);
        if (answer.status === 401 && caller.renew && isForCallers && !isOdd) this.renew(caller);
    }

    // Once for all requests of a caller that were refused together; until then the others go on. Whose
    // mail comes too late tries again when it is refused again.
    renew(caller) {
        caller.renewing ??= caller.renew().catch(forgiveLateMail)
            .catch((error) => this.report(`${caller.name} does not get in again\n${error.stack}`))
            .finally(() => { caller.renewing = undefined; });
    }

    keep({ operationId }, { machine, browser }, { body, headers }) {
        for (const line of headers.getSetCookie()) browser?.keep(line);
        if (browser && body?.csrf_token) browser.csrfToken = body.csrf_token;
        if (operationId === 'list_offers' && body.items.length) {
            this.market = body.items.map((it) => it.offer_id);
        }
        if (operationId === 'add_template') this.madeTemplates.push(body);
        if (machine && body) machine.note(body);
    }

    learn(value, context) {
        if (Array.isArray(value)) {
            for (const item of value) this.learn(item, context);
            return;
        }
        this.watchEnd(value, context);
        for (const [name, member] of Object.entries(value)) {
            if (member !== null && typeof member === 'object') this.learn(member, context);
            else if (typeof member === 'string' || typeof member === 'number') {
                this.note(name, member, context);
            }
        }
    }

    // An answer to a command may be one of before, repeated.
    watchEnd(value, { operation, began }) {
        const name = Object.keys(ends).find((it) => typeof value[it] === 'string');
        if (!name || typeof value.state !== 'string') return;
        const id = value[name];
        const end = this.ended.get(id);
        assert.ok(!end || began < end.since || operation.method !== 'GET' || end.next.includes(value.state),
            `${name} ${id} had ended and is ${value.state}`);
        const next = ends[name][value.state];
        if (next) this.ended.set(id, { next, since: ++this.moment });
    }

    note(name, value, { operation, caller, status, began }) {
        remember(this.pool, name, value, this.dice);
        if (!this.own.has(caller)) this.own.set(caller, new Map());
        if (name.endsWith('_id')) remember(this.own.get(caller), name, value, this.dice);
        if (!ownIds.has(name)) return;
        const owner = this.owners.get(value);
        // A machine tells of itself, and is its owner's.
        const isMade = makes(operation, name, status) && !caller.admin && !caller.machine;
        if (!owner && isMade) this.owners.set(value, caller);
        const isShared = !operation.security.length ||
            (name === 'job_id' && !/^\/api\/v1\/jobs(?!.*\/evidence$)/.test(operation.path));
        assert.ok(!owner || owner === caller || caller.admin || caller.machine || isShared,
            `${name} ${value} is ${owner?.name}'s`);
        const gone = this.gone.get(value);
        assert.ok(gone?.list !== operation.path || began < gone.since, `${name} ${value} was deleted`);
    }

    // What was deleted by "…/things/{id}" is not in "…/things" again.
    forget(operation, path) {
        const match = operation.path.match(/^(.*)\/\{id\}$/);
        const id = decodeURIComponent(path.split('?')[0].split('/').at(-1));
        if (match) this.gone.set(id, { list: match[1], since: ++this.moment });
    }
}

function named({ number, request }) {
    return `request ${number}, ` + (request ? `${request.caller.name}: ${request.method} `
        + `${request.path} ${String(request.body).slice(0, 2000)}` : 'before it was sent');
}

// The code that came may also be one the run itself had asked for.
function forgiveLateMail(error) {
    if (!/^no mail to|AUTHORIZATION_INVALID/.test(error.message)) throw error;
}

// The newest last; some value makes room for it.
function remember(pool, name, value, dice) {
    const values = pool.get(name) ?? [];
    pool.set(name, values);
    if (values.includes(value)) return;
    if (values.length >= poolMax) values.splice(dice.below(values.length), 1);
    values.push(value);
}

// Whether the id is of what the operation made. A ticket may name the job of both its sides, which
// the host of the job sees elsewhere too.
function makes({ operationId }, name, status) {
    if (name === 'job_id') return operationId === 'create_job';
    return status === 201 && (operationId !== 'create_ticket' || name === 'ticket_id');
}

// Whether the operation asks for what this caller has.
function suits(caller, { security = [] }) {
    const wanted = security.flatMap((it) => Object.keys(it));
    if (!wanted.length) return true;
    switch (caller.kind) {
    case 'machine': return wanted.includes('hostAgent');
    case 'agent': return wanted.includes('apiKey');
    case 'person':
    case 'admin': return wanted.includes('session');
    default: return false;
    }
}

function encode(value) {
    return encodeURIComponent(String(value).toWellFormed?.() ?? String(value).replace(/[\ud800-\udfff]/g, ''));
}
