// What happened to the account, as it happens.
import { useState } from 'preact/hooks';
import { When, visible } from '../../format';
import { Button, Code, Empty, Failure, Field, Loading, More, Panel, Select, Sheet, Table } from '../../kit';
import { useQuery } from '../../router';
import { type AccountEvent, useEvents } from './event_list';
import { eventGroups, eventPage, eventWords } from './event_words';

export function Events() {
    const [query, setQuery] = useQuery();
    const group = eventGroups.some(([name]) => name === query['type']) ? query['type'] ?? '' : '';
    const list = useEvents(group === '' ? undefined : `${group}.*`);
    const [shown, setShown] = useState<AccountEvent>();
    return <Panel title="Events" flush aside={<span class="live">as they happen</span>}
        footer={<>Programs read the same by <a href="/docs">the API</a>, as pages, a stream or{' '}
            <a href="/account/webhooks">webhooks</a>. They are kept for 30 days.</>}>
        <div class="body">
            <Field label="Show">
                {(ids) => <Select {...ids} value={group} onChange={(type) => setQuery({ type }, { replace: true })}
                    options={[['', 'All of them'], ...eventGroups]} />}
            </Field>
        </div>
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {list.isLoading && <Loading rows={6} />}
        {list.items?.length === 0 && !list.error && <Empty title="Nothing of this kind lately.">
            {list.hasMore ? 'Older ones may have it.' : 'Rent something, or add money: each step shows up here.'}
        </Empty>}
        {list.items && list.items.length > 0 && <Table dense caption="Events of the account, newest first"
            rows={list.items} keyOf={({ event_id }) => event_id} columns={[
                { head: 'When', cell: (event) => <When at={event.timestamp} /> },
                { head: 'What', cell: (event) => <What event={event} /> },
                { head: 'Type', narrow: 'hide', cell: (event) => <span class="mono tiny muted">{event.type}</span> },
                { head: 'Number', right: true, cell: (event) => <Button small kind="quiet"
                    label={`All of event ${event.sequence}`} onClick={() => setShown(event)}>
                    {event.sequence}
                </Button> },
            ]} />}
        <More list={list} />
        <Sheet title={shown ? eventWords(shown.type) : ''} open={shown !== undefined}
            onClose={() => setShown(undefined)}>
            {shown && <Code text={visible(JSON.stringify(shown, null, 2))} label="the event" />}
        </Sheet>
    </Panel>;
}

function What({ event }: { event: AccountEvent }) {
    const page = eventPage(event.subject, event.type);
    const words = eventWords(event.type);
    return page ? <a href={page}>{words}</a> : <>{words}</>;
}
