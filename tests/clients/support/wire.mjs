// HTTP/1.1 over sockets that are kept, with as little between a request and its bytes as there can be:
// a run of a million requests spends its time here. What it is given is sent as it is.
import { connect } from 'node:net';

const answerMillisecondsMax = 30_000;
const headEnd = '\r\n\r\n';

export class Wire {
    idle = [];

    constructor(port) {
        this.port = port;
    }

    // The answer's status, its fields by lower-case name (`set-cookie` as a list), and its text.
    exchange(method, path, headers, body = '') {
        const bytes = Buffer.from(body);
        const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('');
        const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.port}\r\n${fields}`
            + (method === 'GET' ? '' : `Content-Length: ${bytes.length}\r\n`) + '\r\n';
        return new Promise((resolve, reject) => {
            const line = this.idle.pop() ?? new Line(this.port);
            line.ask(Buffer.concat([Buffer.from(head), bytes]), (error, answer) => {
                if (error) return reject(error);
                if (answer.headers.connection !== 'close' && line.isOpen) this.idle.push(line);
                else line.socket.destroy();
                resolve(answer);
            });
        });
    }

    close() {
        for (const line of this.idle) line.socket.destroy();
    }
}

// One connection, with at most one request on its way.
class Line {
    isOpen = true;
    done = undefined;
    came = Buffer.alloc(0);

    constructor(port) {
        this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
        this.socket.setTimeout(answerMillisecondsMax);
        this.socket.on('data', (piece) => {
            this.came = this.came.length ? Buffer.concat([this.came, piece]) : piece;
            const answer = this.done && parse(this.came, false);
            if (answer) this.finish(undefined, answer);
        });
        this.socket.on('timeout', () => this.finish(new Error('no answer in time')));
        this.socket.on('error', (error) => this.finish(error));
        this.socket.on('close', () => {
            const answer = this.done && parse(this.came, true);
            this.finish(answer ? undefined : new Error('the connection ended without an answer'), answer);
        });
    }

    ask(bytes, done) {
        this.done = done;
        this.came = Buffer.alloc(0);
        this.socket.write(bytes);
    }

    finish(error, answer) {
        if (error) this.socket.destroy();
        if (this.socket.destroyed) this.isOpen = false;
        const done = this.done;
        this.done = undefined;
        done?.(error, answer);
    }
}

// The answer in the bytes, or nothing as long as some are missing.
function parse(bytes, hasEnded) {
    const end = bytes.indexOf(headEnd);
    if (end < 0) return undefined;
    const [first, ...lines] = bytes.latin1Slice(0, end).split('\r\n');
    const headers = {};
    for (const line of lines) {
        const colon = line.indexOf(':');
        const name = line.slice(0, colon).toLowerCase();
        const value = line.slice(colon + 1).trim();
        if (name === 'set-cookie') (headers[name] ??= []).push(value);
        else headers[name] = value;
    }
    const status = Number(first.split(' ')[1]);
    const body = bodyIn(bytes.subarray(end + headEnd.length), status, headers, hasEnded);
    return body && { status, headers, text: body.toString() };
}

function bodyIn(bytes, status, headers, hasEnded) {
    if (status === 204 || status === 304) return Buffer.alloc(0);
    if (headers['transfer-encoding'] === 'chunked') return unchunked(bytes);
    const length = headers['content-length'];
    if (length === undefined) return hasEnded ? bytes : undefined;
    return bytes.length >= Number(length) ? bytes.subarray(0, Number(length)) : undefined;
}

function unchunked(bytes) {
    const pieces = [];
    for (let at = 0; ;) {
        const end = bytes.indexOf('\r\n', at);
        if (end < 0) return undefined;
        const size = parseInt(bytes.latin1Slice(at, end), 16);
        const next = end + 2 + size + 2;
        if (bytes.length < next) return undefined;
        if (size === 0) return Buffer.concat(pieces);
        pieces.push(bytes.subarray(end + 2, end + 2 + size));
        at = next;
    }
}
