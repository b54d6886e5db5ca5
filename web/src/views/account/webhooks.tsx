// Webhooks: a list, and by ?id= one of them with its deliveries.
import type { Answer, Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { usePages } from '../../api';
import { When } from '../../format';
import { Badge, Button, Empty, Failure, Loading, More, Notice, Panel, Sheet, Table } from '../../kit';
import { useQuery } from '../../router';
import { NewWebhook } from './new_webhook';
import { Secret, useSecret } from './secret';
import { OneWebhook } from './webhook';

type Webhook = Item<'list_webhooks'>;
export type IssuedWebhook = Answer<'create_webhook'>;

export function Webhooks() {
    const [query] = useQuery();
    const [issued, setIssued] = useSecret<IssuedWebhook>();
    const id = query['id'];
    return <>
        {issued && <Issued webhook={issued} onDone={() => setIssued(undefined)} />}
        {id ? <OneWebhook key={id} id={id} onSecret={setIssued} /> : <List onMade={setIssued} />}
    </>;
}

function List({ onMade }: { onMade: (webhook: IssuedWebhook) => void }) {
    const list = usePages('list_webhooks', {}, { every: 15 });
    const [isNew, setIsNew] = useState(false);
    const make = <Button small kind="primary" onClick={() => setIsNew(true)}>Make a webhook</Button>;
    return <Panel title="Webhooks" flush aside={make}
        footer="Each event is posted to your address, signed as Standard Webhooks has it, in order, until it is taken.">
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {list.isLoading && <Loading rows={3} />}
        {list.items?.length === 0 && <Empty title="None yet." action={make}>
            Your server hears of a rental that runs, money that arrived, a machine that fell silent, without asking.
        </Empty>}
        {list.items && list.items.length > 0 && <Table caption="Your webhooks, oldest first" rows={list.items}
            keyOf={({ webhook_id }) => webhook_id}
            href={({ webhook_id }) => `/account/webhooks?id=${webhook_id}`} columns={[
                { head: 'Address', cell: (row) => <span style={{ overflowWrap: 'anywhere' }}>{row.url}</span> },
                { head: 'Events', cell: (row) => row.types.length === 0 ? 'all' : row.types.join(', ') },
                { head: 'State', cell: (row) => <WebhookState webhook={row} /> },
                { head: 'Made', cell: (row) => <When at={row.created_at} /> },
            ]} />}
        <More list={list} />
        <Sheet title="Make a webhook" open={isNew} onClose={() => setIsNew(false)}>
            {isNew && <NewWebhook onClose={() => setIsNew(false)}
                onMade={(webhook) => { setIsNew(false); onMade(webhook); }} />}
        </Sheet>
    </Panel>;
}

const causes: Record<string, string> = {
    gone: 'Disabled: its target said that it is gone', unreachable: 'Disabled: nothing got through for three days',
    key_ended: 'Disabled: its key ended',
};

export function WebhookState({ webhook }: { webhook: Webhook }) {
    if (webhook.disabled_cause) return <Badge tone="stop">{causes[webhook.disabled_cause] ?? 'Disabled'}</Badge>;
    if (!webhook.enabled) return <Badge tone="slack">Paused</Badge>;
    if (webhook.failing_since) return <Badge tone="lamp">Failing since <When at={webhook.failing_since} /></Badge>;
    return <Badge tone="go">Works</Badge>;
}

function Issued({ webhook, onDone }: { webhook: IssuedWebhook; onDone: () => void }) {
    if (!webhook.secret) {
        return <Notice tone="lamp" title="Its secret did not arrive" actions={<Button onClick={onDone}>Close</Button>}>
            The line broke in between. Make a new secret on the page of the webhook.
        </Notice>;
    }
    return <Notice tone="go" role="status" title="The secret of the webhook"
        actions={<Button onClick={onDone}>I have kept it</Button>}>
        <div class="tight">
            <p>Your server checks signatures with it. It is shown now and never again.
                {webhook.previous_secret_until && <> The one before signs, too, until{' '}
                    <When at={webhook.previous_secret_until} />.</>}</p>
            <Secret text={webhook.secret} label="the secret of the webhook" />
        </div>
    </Notice>;
}
