// HTTP/1.1 over sockets that are kept, with as little between a request and its bytes as there can be:
// a run of a million requests spends its time here. What it is given is sent as it is.
import { connect } from 'node:net';

const answerMillisecondsMax = 60_000;
const headEnd = '\r\n\r\n';

export class Wire {
    idle = []; // open lines without a request; each leaves when it closes

    constructor(port, millisecondsMax = answerMillisecondsMax) {
        Object.assign(this, { port, millisecondsMax });
    }

    // The answer's status, headers and text.
    async exchange(method, path, headers, body = '') {
        let head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.port}\r\n`;
        for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
        if (method !== 'GET') head += `Content-Length: ${Buffer.byteLength(body)}\r\n`;
        const request = `${head}\r\n${body}`;
        const kept = this.kept();
        try {
            return await (kept ?? new Line(this)).ask(request);
        } catch (error) {
            // The server may have closed a line that was kept before the request was there. A read may
            // be sent twice; whether anything else took effect is not known.
            if (!kept || !error.isUnheard || method !== 'GET') throw error;
            return new Line(this).ask(request);
        }
    }

    // A line whose time is over is left alone, also when this process was stopped and does not know it
    // yet: the server is about to close it, or has. So is one whose answer was late (Line.settle).
    kept() {
        const newest = this.idle.at(-1);
        if (newest && Date.now() - newest.usedAt >= this.millisecondsMax) {
            this.close();
            this.idle = [];
        }
        return this.idle.pop();
    }

    close() {
        for (const line of this.idle) line.socket.destroy();
    }
}

// One connection, with at most one request on its way.
class Line {
    isOld = false; // half of its time is over
    waiting = undefined; // who asked
    usedAt = 0;
    came = undefined;

    constructor(wire) {
        this.wire = wire;
        this.socket = connect({ port: wire.port, host: '127.0.0.1', noDelay: true });
        this.socket.setTimeout(wire.millisecondsMax / 2);
        this.socket.on('data', (piece) => this.take(piece));
        this.socket.on('timeout', () => this.grow());
        this.socket.on('error', (error) => this.end(error));
        this.socket.on('end', () => this.end());
        this.socket.on('close', () => this.end());
    }

    ask(request) {
        return new Promise((resolve, reject) => {
            this.waiting = { resolve, reject };
            this.came = undefined;
            this.isOld = false;
            this.usedAt = Date.now();
            this.socket.write(request);
        });
    }

    take(piece) {
        this.came = this.came ? Buffer.concat([this.came, piece]) : piece;
        if (!this.waiting) return this.fail(new Error('bytes that nobody asked for'));
        const answer = parse(this.came, false);
        if (answer) this.settle(answer);
    }

    // A process that was stopped for a while finds its time over before it looks at its sockets, so the
    // time has to be over twice.
    grow() {
        if (this.isOld) return this.fail(new Error('no answer in time'));
        this.isOld = true;
        this.socket.setTimeout(this.wire.millisecondsMax / 2);
    }

    settle(answer) {
        const { resolve } = this.waiting;
        if (answer.hasMore) return this.fail(new Error('more came than the answer'));
        this.waiting = undefined;
        const isOld = this.isOld || Date.now() - this.usedAt >= this.wire.millisecondsMax / 2;
        if (answer.isLast || isOld) this.socket.destroy();
        else this.wire.idle.push(this);
        this.usedAt = Date.now();
        resolve(answer);
    }

    // An answer without a length is whole now; if there is none, whoever waits is told.
    end(error = new Error('the connection ended without an answer')) {
        const answer = this.waiting && this.came && parse(this.came, true);
        if (answer) answer.isLast = true;
        if (answer) this.settle(answer);
        else this.fail(Object.assign(error, { isUnheard: !this.came }));
    }

    fail(error) {
        this.wire.idle = this.wire.idle.filter((it) => it !== this);
        this.socket.destroy();
        this.waiting?.reject(error);
        this.waiting = undefined;
    }
}

// The answer in the bytes, or nothing as long as some are missing.
function parse(bytes, hasEnded) {
    const end = bytes.indexOf(headEnd);
    if (end < 0) return undefined;
    const [first, ...lines] = bytes.latin1Slice(0, end).split('\r\n');
    const headers = new Fields(lines);
    const status = Number(first.split(' ')[1]);
    const body = bodyIn(bytes.subarray(end + headEnd.length), status, headers, hasEnded);
    return body && { status, headers, text: body.bytes.toString(), hasMore: body.hasMore,
        isLast: headers.get('connection') === 'close' };
}

// The fields of an answer, as fetch shows them; names are asked for in lower case.
class Fields {
    values = {};
    cookies = [];

    constructor(lines) {
        for (const line of lines) {
            const colon = line.indexOf(':');
            const name = line.slice(0, colon).toLowerCase();
            const value = line.slice(colon + 1).trim();
            if (name === 'set-cookie') this.cookies.push(value);
            else this.values[name] = value;
        }
    }

    get(name) {
        return this.values[name];
    }

    getSetCookie() {
        return this.cookies;
    }
}

// The body, and whether bytes follow it; nothing as long as some are missing.
function bodyIn(bytes, status, headers, hasEnded) {
    if (status === 204 || status === 304) return upTo(0, bytes);
    if (headers.get('transfer-encoding') === 'chunked') return unchunked(bytes);
    const length = headers.get('content-length');
    if (length === undefined) return hasEnded ? upTo(bytes.length, bytes) : undefined;
    return bytes.length >= Number(length) ? upTo(Number(length), bytes) : undefined;
}

function upTo(length, bytes) {
    return { bytes: bytes.subarray(0, length), hasMore: length < bytes.length };
}

function unchunked(bytes) {
    const pieces = [];
    for (let at = 0; ;) {
        const end = bytes.indexOf('\r\n', at);
        if (end < 0) return undefined;
        const size = parseInt(bytes.latin1Slice(at, end), 16);
        const next = end + 2 + size + 2;
        if (bytes.length < next) return undefined;
        if (size === 0) return { bytes: Buffer.concat(pieces), hasMore: next < bytes.length };
        pieces.push(bytes.subarray(end + 2, end + 2 + size));
        at = next;
    }
}
