// A small market on a free port, written from the contract and sharing no code with the library: offers,
// quotes, jobs with Idempotency-Keys, events. Its answers can be spoilt one by one.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const states = ['RESERVED', 'STARTING', 'RUNNING'];
const keyed = /^(POST|PUT|PATCH|DELETE) /;
const unkeyed = /^POST \/api\/v1\/(auth|agents|account\/step-up)|\/openai\/v1\//;

export async function startMarket(test) {
    const market = new Market();
    await new Promise((resolve) => market.server.listen(0, '127.0.0.1', resolve));
    market.origin = `http://127.0.0.1:${market.server.address().port}`;
    test.after(() => market.close());
    return market;
}

export function envelope(code, message = 'what was wrong', retryable = false) {
    return { error: { code, message, retryable, request_id: randomUUID() } };
}

class Market {
    seen = []; // requests: {route, path, query, headers, body}
    jobs = new Map();
    quotes = new Map();
    answers = new Map(); // by route and key
    spoilers = []; // {route, how}, each used once
    routes = new Map(); // by route, those of a test before our own
    heard = undefined; // told of each request when it is there
    plan = states; // the states that a job goes through, one a look

    constructor() {
        this.server = createServer((request, response) => this.take(request, response));
    }

    close() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }

    // How the next answers of a route are spoilt, each once; `how` gets the answer that was made.
    spoil(route, ...hows) {
        for (const how of hows) this.spoilers.push({ route, how });
    }

    on(route, handler) {
        this.routes.set(route, handler);
    }

    sent(route) {
        return this.seen.filter((each) => each.route === route);
    }

    async take(request, response) {
        let body = '';
        for await (const piece of request.setEncoding('utf8')) body += piece;
        const url = new URL(request.url, 'http://x');
        const path = url.pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}');
        const seen = { route: `${request.method} ${path}`, path: url.pathname, headers: request.headers,
            id: url.pathname.match(/[0-9a-f]{8}-[0-9a-f-]{27}/)?.[0],
            query: Object.fromEntries(url.searchParams), body: body && JSON.parse(body) };
        this.seen.push(seen);
        this.heard?.(seen);
        const at = this.spoilers.findIndex(({ route }) => route === seen.route);
        const how = at < 0 ? undefined : this.spoilers.splice(at, 1)[0].how;
        if (how?.isBefore) return how(response, seen);
        const answer = await this.answer(seen, response);
        if (!answer) return; // it was written already
        if (how) return how(response, answer);
        send(response, answer);
    }

    async answer(seen, response) {
        const handler = this.routes.get(seen.route) ?? own[seen.route];
        if (!handler) return { status: 404, body: envelope('NOT_FOUND', 'no such route') };
        if (!keyed.test(seen.route) || unkeyed.test(seen.route)) return handler.call(this, seen, response);
        const key = seen.headers['idempotency-key'];
        if (!key) return { status: 422, body: envelope('INVALID_INPUT', 'header.Idempotency-Key: is missing') };
        const place = `${seen.route} ${seen.path} ${key}`;
        const hash = createHash('sha256').update(JSON.stringify(seen.body)).digest('hex');
        const kept = this.answers.get(place);
        if (kept && kept.hash !== hash) return { status: 409, body: envelope('IDEMPOTENCY_CONFLICT') };
        if (kept) return kept.answer;
        const answer = await handler.call(this, seen, response);
        if (answer?.status < 300) this.answers.set(place, { hash, answer });
        return answer;
    }
}

const own = {
    'POST /api/v1/quotes'({ body }) {
        const quote = { ...body, quote_id: randomUUID(), estimated_total_micro: body.budget_micro };
        this.quotes.set(quote.quote_id, quote);
        return { status: 201, body: quote };
    },
    'POST /api/v1/jobs'({ body }) {
        if (!this.quotes.delete(body.quote_id)) return { status: 409, body: envelope('QUOTE_EXPIRED') };
        const job = { job_id: randomUUID(), state: 'RESERVED', quote_id: body.quote_id, looks: 0,
            end_reason: null, failure: null };
        this.jobs.set(job.job_id, job);
        return { status: 202, body: { job_id: job.job_id, state: job.state } };
    },
    'GET /api/v1/jobs'({ query }) {
        return page([...this.jobs.values()].reverse(), query);
    },
    'GET /api/v1/jobs/{id}'({ id }) {
        const job = this.jobs.get(id);
        if (!job) return { status: 404, body: envelope('NOT_FOUND') };
        job.state = job.stopped ? 'STOPPED' : this.plan[Math.min(job.looks++, this.plan.length - 1)];
        return { status: 200, body: { ...job, ...this.facts } };
    },
    'POST /api/v1/jobs/{id}/stop'({ id, body }) {
        const job = this.jobs.get(id);
        Object.assign(job, { stopped: body.reason, state: 'STOPPING', end_reason: 'renter_stop' });
        return { status: 202, body: { job_id: id, state: 'STOPPING' } };
    },
    'GET /api/v1/jobs/{id}/openai/v1/models'() {
        return { status: 200, body: { data: [{ id: 'model' }] } };
    },
    'GET /api/v1/offers'({ query }) {
        return page(this.offers ?? [], query);
    },
    'GET /api/v1/billing'() {
        return { status: 200, body: { spendable_micro: '12345678901234567890', unheard_of: { x: 1 } } };
    },
};

export function page(all, { cursor = '0', limit = '20' }) {
    const end = Number(cursor) + Number(limit);
    const next_cursor = end < all.length ? String(end) : null;
    return { status: 200, body: { items: all.slice(Number(cursor), end), next_cursor } };
}

export function send(response, { status, body, headers = {} }) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const kind = typeof body === 'string' ? 'text/html' : 'application/json';
    response.writeHead(status, { 'Content-Type': kind, 'X-Request-Id': randomUUID(), ...headers });
    response.end(text);
}

// The change is made, and its answer never comes.
export function drop(response) {
    response.destroy();
}

// So does its half.
export function cut(response, { status, body }) {
    const text = JSON.stringify(body);
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': text.length });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
}

// Somebody answers before anything was done.
export function instead(status, body, headers) {
    return Object.assign((response) => send(response, { status, body, headers }), { isBefore: true });
}

// Nothing is done and nobody answers.
export const silence = Object.assign(() => {}, { isBefore: true });
export const dropBefore = Object.assign((response) => response.destroy(), { isBefore: true });

// Writes raw pieces of an event stream; then the connection ends by `how`: end, cut or stay.
export function stream(pieces, how = 'cut') {
    return async (_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        for (const piece of pieces) {
            response.write(piece);
            await new Promise((resolve) => setImmediate(resolve)); // pieces of their own on the wire
        }
        if (how === 'end') response.end();
        if (how === 'cut') setTimeout(() => response.destroy(), 20);
        return undefined;
    };
}
