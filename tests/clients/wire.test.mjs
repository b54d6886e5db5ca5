// Each request of the fuzzer's connections is settled, whatever the server does with a connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'node:test';
import { until } from './support/wait.mjs';
import { Wire } from './support/wire.mjs';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

// Each connection is given to `serve` with the number of its request, from 1 on.
async function startWire(t, serve, millisecondsMax) {
    const sockets = [];
    const server = createServer((socket) => {
        let requests = 0;
        sockets.push(socket);
        socket.on('data', () => serve(socket, ++requests)).on('error', () => {});
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const wire = new Wire(server.address().port, millisecondsMax);
    t.after(() => {
        wire.close();
        for (const socket of sockets) socket.destroy();
        server.close();
    });
    return Object.assign(wire, { sockets });
}

const isForgotten = (wire) => until('line that is forgotten', () => wire.idle.length === 0);

test('a line that the server closes while it is idle is not used again', async (t) => {
    const wire = await startWire(t, (socket) => socket.end(answer));
    assert.equal((await wire.exchange('POST', '/', {}, 'x')).text, 'hi');
    await isForgotten(wire);
    assert.equal((await wire.exchange('POST', '/', {}, 'x')).text, 'hi');
    assert.equal(wire.sockets.length, 2);
});

test('a line that is idle for too long is not used again', async (t) => {
    const wire = await startWire(t, (socket) => socket.write(answer), 1000);
    await wire.exchange('POST', '/', {}, 'x');
    await isForgotten(wire);
    assert.equal((await wire.exchange('POST', '/', {}, 'x')).text, 'hi');
});

test('a line whose time was over while the process was stopped is not used again', async (t) => {
    const wire = await startWire(t, (socket) => socket.write(answer));
    await wire.exchange('POST', '/', {}, 'x');
    wire.idle[0].usedAt = 0;
    assert.equal((await wire.exchange('POST', '/', {}, 'x')).text, 'hi');
    assert.equal(wire.sockets.length, 2);
});

test('a read that met a line being closed is sent again, anything else is reported', async (t) => {
    const wire = await startWire(t, (socket, number) =>
        number === 1 ? socket.write(answer) : socket.destroy());
    await wire.exchange('GET', '/', {});
    assert.equal((await wire.exchange('GET', '/', {})).text, 'hi');
    assert.equal(wire.sockets.length, 2);
    await assert.rejects(wire.exchange('POST', '/', {}, 'x'), /ended without an answer|ECONNRESET/);
    assert.equal(wire.sockets.length, 2);
});

test('a request without an answer is reported when its time is over, and sent once', async (t) => {
    const wire = await startWire(t, (socket, number) => number === 1 && socket.write(answer), 1000);
    await wire.exchange('GET', '/', {});
    await assert.rejects(wire.exchange('GET', '/', {}), /no answer in time/);
    assert.equal(wire.sockets.length, 1);
});

test('bytes that follow an answer are reported', async (t) => {
    const wire = await startWire(t, (socket) => socket.write(`${answer}more`));
    await assert.rejects(wire.exchange('GET', '/', {}), /more came than the answer/);
});
