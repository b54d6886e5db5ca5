// One ticket: what was said, in order, as plain text.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Id, When } from '../../format';
import { Async, Badge, Button, Facts, Failure, Field, Notice, Page, Panel, TextArea } from '../../kit';
import { useParams } from '../../router';
import { ticketState } from '../../words';
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
            <aside class="stack"><About ticket={data} /></aside>
        </div>}</Async>
    </Page>;
}

function Thread({ ticket }: { ticket: Conversation }) {
    const first = { message_id: ticket.ticket_id, author: 'owner', text: ticket.text, created_at: ticket.created_at };
    return <div class="chat" role="log" aria-label="Messages">
        {[first, ...ticket.messages].map((message) => {
            const isOwn = message.author === 'owner';
            return <div key={message.message_id} class={isOwn ? 'say you' : 'say'}>
                <span class="who">{isOwn ? 'You' : 'Support'}, <When at={message.created_at} /></span>
                <div class="text">{message.text}</div>
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
    return <Panel title="About">
        <Facts items={[
            ['Rental', ticket.job_id ? <a href={`/rentals/${ticket.job_id}`}>Open it</a> : null],
            ['Payment', ticket.payment_reference
                ? <span class="mono small" style={{ overflowWrap: 'anywhere' }}>{ticket.payment_reference}</span>
                : null],
            ['Last written', <When at={ticket.updated_at} />],
        ]} />
    </Panel>;
}
