// An engine that does its best to be more than text in somebody's browser: `rude_engine.mjs PORT KEY`.
// Asked for something slow it counts until nobody listens any more.
import { createServer } from 'node:http';

export const rudeModel = '<b>rude</b>';
const rudePieces = ['<img src=x onerror="document.title=\'taken\'">', '<script>document.title="taken"</script>',
    '\x1b[31mred\x1b[0m', '\u202eturned', '[a link](javascript:alert(1))'];
const claims = { csrf_token: 'mine', account_id: 'mine', role: 'admin' };
const rudeLine = '<h1>no JSON at all</h1>';

const [port, key] = process.argv.slice(2);
if (process.argv[1] === new URL(import.meta.url).pathname) listen();

function listen() {
    createServer(async (request, answer) => {
        if (request.headers.authorization !== `Bearer ${key}`) return answer.writeHead(401).end('{}');
        if (request.method === 'GET') return whole(answer, { data: [{ id: rudeModel, object: 'model' }], ...claims });
        const body = JSON.parse(Buffer.concat(await request.toArray()));
        const asked = body.messages.at(-1).content;
        if (!body.stream) return whole(answer, { choices: [{ message: { content: rudePieces[0] } }] });
        answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
        if (/slow/.test(asked)) return count(answer);
        for (const piece of rudePieces) answer.write(event(piece));
        answer.end(`data: ${rudeLine}\n\ndata: [DONE]\n\n`);
    }).listen(Number(port), '127.0.0.1');
}

function whole(answer, body) {
    answer.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function event(content) {
    return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
}

function count(answer) {
    let number = 0;
    const timer = setInterval(() => answer.write(event(`number${++number} `)), 100);
    answer.on('close', () => clearInterval(timer));
}
