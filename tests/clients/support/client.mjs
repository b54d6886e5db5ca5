// Two clients of the API: a program, with or without a key, and a browser with its cookie. Both
// hold every answer to the server's specification.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

const answerSecondsMax = 20;

export class Program {
    constructor(server, key) {
        this.server = server;
        this.key = key;
    }

    get(path) {
        return this.call('GET', path);
    }

    post(path, body) {
        return this.call('POST', path, body);
    }

    delete(path) {
        return this.call('DELETE', path);
    }

    async call(method, path, body) {
        const { specification } = this.server;
        const headers = this.headers(method);
        if (body !== undefined) headers['Content-Type'] = 'application/json';
        if (specification.takesIdempotencyKey(method, path)) {
            headers['Idempotency-Key'] = randomUUID();
        }
        const answer = await this.send(method, path, headers, body && JSON.stringify(body));
        if (answer.headers.get('content-type') === 'application/json') {
            answer.body = JSON.parse(answer.text);
        }
        specification.check(method, path, answer);
        return answer;
    }

    // Over a wire, where a long run gave the server one.
    async send(method, path, headers, body) {
        const { wire, origin } = this.server;
        if (wire) return wire.exchange(method, path, headers, body);
        const response = await fetch(origin + path, { method, headers, body, redirect: 'error',
            signal: AbortSignal.timeout(answerSecondsMax * 1000) });
        return { status: response.status, headers: response.headers, text: await response.text() };
    }

    headers() {
        return this.key ? { Authorization: `Bearer ${this.key}` } : {};
    }
}

export class Browser extends Program {
    userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
    cookie = undefined; // name=value
    csrfToken = undefined;

    async call(method, path, body) {
        const answer = await super.call(method, path, body);
        for (const line of answer.headers.getSetCookie()) this.keep(line);
        if (answer.body?.csrf_token) this.csrfToken = answer.body.csrf_token;
        return answer;
    }

    // A browser names the origin with everything but plain reads; the token is added by the page.
    headers(method) {
        const headers = { 'User-Agent': this.userAgent };
        if (this.cookie) headers.Cookie = this.cookie;
        if (method === 'GET') return headers;
        headers.Origin = this.origin ?? this.server.origin;
        if (this.csrfToken) headers['X-CSRF-Token'] = this.csrfToken;
        return headers;
    }

    keep(line) {
        const [pair, ...attributes] = line.split('; ');
        assert.match(pair, /^session=/);
        const age = attributes.find((attribute) => attribute.startsWith('Max-Age='));
        assert.deepEqual(attributes, ['Path=/', age, 'HttpOnly', 'SameSite=Lax']);
        this.cookie = age === 'Max-Age=0' ? undefined : pair;
    }
}

// The body of an answer that has to be a success.
export function good(answer, status) {
    assert.equal(answer.status, status, answer.text);
    return answer.body;
}

// The error of an answer that has to be this refusal.
export function refused(answer, status, code) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.error.code, code, answer.text);
    return answer.body.error;
}
