// One ticket: what was said, in order, as plain text.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Id, When, visible } from '../../format';
import { Async, Badge, Button, Facts, Failure, Field, Notice, Page, Panel, TextArea } from '../../kit';
import { useParams } from '../../router';
import { useIsOperator, useSession } from '../../session';
import { ticketState } from '../../words';
import { Consequence } from '../operate/consequence';
import { categoryWords } from './new_ticket';

type Conversation = Answer<'show_ticket'>;

export default function Ticket() {
    const id = useParams()['id'] ?? '';
    const read = useRead('show_ticket', { path: { id } }, { every: 30 });
    const ticket = read.data;
    const state = ticket && ticketState(ticket.state);
    return <Page title={ticket ? categoryWords(ticket.category) : 'Ticket'} crumbs={[['Help', '/help']]}
        facts={ticket && state && <>
            <Badge tone={state.tone}>{state.word}</Badge>
            <span>written <When at={ticket.created_at} /></span>
            <Id value={ticket.ticket_id} what="ticket id" />
        </>}>
        <Async read={read} rows={6}>{(data) => <div class="cols">
            <Panel title="What was written" flush>
                <Thread ticket={data} />
                <div class="body">{data.state === 'closed'
                    ? <Notice title="It is closed" actions={<Button href="/help?new=other">Write another</Button>}>
                        A closed ticket takes no more messages.
                    </Notice>
                    : <Reply id={data.ticket_id} />}</div>
            </Panel>
            <aside class="stack"><About ticket={data} /><Desk ticket={data} /></aside>
        </div>}</Async>
    </Page>;
}

function Thread({ ticket }: { ticket: Conversation }) {
    const first = { message_id: ticket.ticket_id, author: 'owner', text: ticket.text, created_at: ticket.created_at };
    const isMine = useSession()?.account_id === ticket.account_id;
    const [owner, desk] = isMine ? ['You', 'Support'] : ['They', 'We'];
    return <div class="chat" role="log" aria-label="Messages">
        {[first, ...ticket.messages].map((message) => {
            const isOwner = message.author === 'owner';
            return <div key={message.message_id} class={isOwner === isMine ? 'say you' : 'say'}>
                <span class="who">{isOwner ? owner : desk}, <When at={message.created_at} /></span>
                <div class="text">{visible(message.text)}</div>
            </div>;
        })}
    </div>;
}

function Reply({ id }: { id: string }) {
    const [text, setText] = useState('');
    const write = useChange('write_to_ticket', { refresh: ['show_ticket', 'list_tickets'], done: () => setText('') });
    const told = fieldError(write.error, 'body.text');
    function give(event: Event) {
        event.preventDefault();
        void write.run({ path: { id }, body: { text: text.trim() } });
    }
    return <form class="stack" onSubmit={give}>
        <Field label="Your message" error={told} hint="Keys and codes in it are taken out before it is kept.">
            {(ids) => <TextArea {...ids} value={text} onInput={setText} rows={4} />}
        </Field>
        {write.error && !told && <Failure error={write.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={write.busy} disabled={text.trim() === ''}>Write</Button>
        </div>
    </form>;
}

function About({ ticket }: { ticket: Conversation }) {
    const isMine = useSession()?.account_id === ticket.account_id;
    return <Panel title="About">
        <Facts items={[
            ['Rental', ticket.job_id ? <a href={`${isMine ? '' : '/operate'}/rentals/${ticket.job_id}`}>Open it</a> : null],
            ['Payment', ticket.payment_reference
                ? <span class="mono small" style={{ overflowWrap: 'anywhere' }}>
                    {visible(ticket.payment_reference)}</span>
                : null],
            ['Last written', <When at={ticket.updated_at} />],
        ]} />
    </Panel>;
}

/** What operators may do beside answering. */
function Desk({ ticket }: { ticket: Conversation }) {
    const [closes, setCloses] = useState(false);
    const change = useChange('close_ticket', { refresh: ['show_ticket', 'list_tickets'],
        done: () => setCloses(false) });
    if (!useIsOperator() || ticket.state === 'closed') return null;
    return <Panel title="At the desk">
        <div class="actions"><Button onClick={() => setCloses(true)}>Close the ticket</Button></div>
        {closes && <Consequence title="Close this ticket" open onClose={() => setCloses(false)} button="Close it"
            busy={change.busy} error={change.error}
            run={(reason) => void change.run({ path: { id: ticket.ticket_id }, body: { reason } })}>
            <p>Its owner hears of it and can write no more in this one.</p>
        </Consequence>}
    </Panel>;
}
