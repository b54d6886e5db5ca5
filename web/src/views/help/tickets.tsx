// Did somebody answer? Tickets, and a new one.
import { useState } from 'preact/hooks';
import { usePages } from '../../api';
import { Ago } from '../../format';
import { Badge, Button, Empty, Failure, Loading, More, Page, Panel, Segmented, Sheet, Table } from '../../kit';
import { go, useQuery } from '../../router';
import { useSession } from '../../session';
import { ticketState } from '../../words';
import { categoryWords, NewTicket } from './new_ticket';

const filters: ['' | 'open' | 'answered' | 'closed', string][] =
    [['', 'All'], ['open', 'Waiting'], ['answered', 'Answered'], ['closed', 'Closed']];

export default function Tickets() {
    const [query, setQuery] = useQuery();
    const session = useSession();
    const state = filters.find(([name]) => name === query['state'])?.[0] ?? '';
    // An operator would be shown everybody's.
    const wanted = { ...(state && { state }), ...(session && { account_id: session.account_id }) };
    const list = usePages('list_tickets', { query: wanted }, { every: 30, enabled: !!session });
    const [isNew, setIsNew] = useState(query['new'] !== undefined);
    const close = () => {
        setIsNew(false);
        setQuery({ new: undefined, job: undefined, payment: undefined }, { replace: true });
    };
    return <Page title="Help" actions={<>
        <Button href="/docs">Read the docs</Button>
        <Button kind="primary" onClick={() => setIsNew(true)}>Write to us</Button>
    </>} facts={<Segmented label="Which tickets" value={state} options={filters}
        onChange={(next) => setQuery({ state: next }, { replace: true })} />}>
        <Panel title="Your tickets" flush footer="Answers are mailed to you, too.">
            {list.error && <Failure error={list.error} retry={list.refetch} />}
            {list.isLoading && <Loading rows={3} />}
            {list.items?.length === 0 && <Empty title={state ? 'None of this kind.' : 'You have not written yet.'}
                action={<Button kind="primary" onClick={() => setIsNew(true)}>Write to us</Button>}>
                Say what happened and what you expected. A person reads it.
            </Empty>}
            {list.items && list.items.length > 0 && <Table caption="Your tickets, newest first" rows={list.items}
                keyOf={({ ticket_id }) => ticket_id} href={({ ticket_id }) => `/help/${ticket_id}`} columns={[
                    { head: 'About', cell: (row) => categoryWords(row.category) },
                    { head: 'What you wrote', cell: (row) => <span class="soft">{beginning(row.text)}</span> },
                    { head: 'State', cell: (row) => {
                        const { word, tone } = ticketState(row.state);
                        return <Badge tone={tone}>{word}</Badge>;
                    } },
                    { head: 'Last written', right: true, cell: (row) => <Ago at={row.updated_at} /> },
                ]} />}
            <More list={list} />
        </Panel>
        <Sheet title="Write to us" open={isNew} onClose={close}>
            {isNew && <NewTicket about={query['new']} job={query['job']} payment={query['payment']} onClose={close}
                onSent={(ticket) => go(`/help/${ticket.ticket_id}`)} />}
        </Sheet>
    </Page>;
}

function beginning(text: string): string {
    const line = text.trim().replaceAll(/\s+/g, ' ');
    return line.length > 90 ? `${line.slice(0, 88)}…` : line;
}
