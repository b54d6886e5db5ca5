// What a webhook sent in the last seven days, and what came back.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, usePages } from '../../api';
import { When, visible } from '../../format';
import { Badge, Button, Code, Empty, Facts, Failure, Loading, More, Panel, Sheet, Table, toast } from '../../kit';
import { deliveryState } from '../../words';
import { eventWords } from './event_words';

type Delivery = Item<'list_webhook_deliveries'>;

export function Deliveries({ webhookId }: { webhookId: string }) {
    const path = { id: webhookId };
    const list = usePages('list_webhook_deliveries', { path }, { every: 5 });
    const [shown, setShown] = useState<Delivery>();
    const again = useChange('redeliver_event', {
        refresh: ['list_webhook_deliveries'], done: () => toast('It is sent once more.') });
    return <Panel title="Deliveries" flush aside="of the last seven days">
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {again.error && <Failure error={again.error} />}
        {list.isLoading && <Loading rows={3} />}
        {list.items?.length === 0 && <Empty title="Nothing was sent yet.">
            Send a test to see whether your server takes it.
        </Empty>}
        {list.items && list.items.length > 0 && <Table dense caption="Deliveries, newest first" rows={list.items}
            keyOf={({ delivery_id }) => delivery_id} columns={[
                { head: 'When', cell: (row) => <When at={row.at} /> },
                { head: 'Event', cell: (row) => <div class="tight">
                    <span>{eventWords(row.type)}</span>
                    <span class="mono tiny muted">{row.type}{row.sequence !== '0' && ` · ${row.sequence}`}</span>
                </div> },
                { head: 'Outcome', cell: (row) => <Outcome delivery={row} /> },
                { head: <span class="sr">Actions</span>, right: true, cell: (row) => <span class="nowrap">
                    <Button small kind="quiet" onClick={() => setShown(row)}>Look</Button>
                    {row.sequence !== '0' && <Button small busy={again.busy}
                        onClick={() => void again.run({ path, body: { sequence: row.sequence } })}>Send again</Button>}
                </span> },
            ]} />}
        <More list={list} />
        <Sheet title="Delivery" open={shown !== undefined} onClose={() => setShown(undefined)}>
            {shown && <Details delivery={shown} />}
        </Sheet>
    </Panel>;
}

function Outcome({ delivery }: { delivery: Delivery }) {
    const { word, tone } = deliveryState(delivery.state);
    const found = delivery.status !== null ? `answered ${delivery.status}` : delivery.fault ?? 'no answer yet';
    return <div class="tight">
        <span><Badge tone={tone}>{word}</Badge></span>
        <span class="small muted">{found}{delivery.attempt > 1 && `, attempt ${delivery.attempt}`}</span>
    </div>;
}

const kinds: Record<string, string> = { event: 'in its turn', redelivery: 'asked for once more', test: 'a test' };

function Details({ delivery }: { delivery: Delivery }) {
    return <>
        <Facts items={[
            ['Event', <span class="mono small">{delivery.event_id}</span>],
            ['Kind', kinds[delivery.kind]],
            ['Attempt', delivery.attempt],
            ['Took', delivery.took_ms === null ? null : `${delivery.took_ms} ms`],
            ['Answered', delivery.status],
            ['Fault', delivery.fault && visible(delivery.fault)],
        ]} />
        {delivery.answer && <>
            <h3>What your server answered</h3><Code text={visible(delivery.answer)} wrap label="the answer" />
        </>}
    </>;
}
