// One webhook: how far it is, what it sent, and what can be done.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Id, When } from '../../format';
import { Async, Button, Facts, Failure, Field, Panel, Sheet, TextInput, toast } from '../../kit';
import { go } from '../../router';
import { Ask } from './ask';
import { Deliveries } from './deliveries';
import { TypeChoice } from './new_webhook';
import { type IssuedWebhook, WebhookState } from './webhooks';

type Webhook = Answer<'show_webhook'>;

export function OneWebhook({ id, onSecret }: { id: string; onSecret: (issued: IssuedWebhook) => void }) {
    const read = useRead('show_webhook', { path: { id } }, { every: 10 });
    return <div class="stack">
        <p><a href="/account/webhooks">All webhooks</a></p>
        <Async read={read} rows={4}>{(webhook) => <Head webhook={webhook} onSecret={onSecret} />}</Async>
        {read.data && <Deliveries webhookId={id} />}
    </div>;
}

function Head({ webhook, onSecret }: { webhook: Webhook; onSecret: (issued: IssuedWebhook) => void }) {
    return <Panel title={<span style={{ overflowWrap: 'anywhere' }}>{webhook.url}</span>}
        aside={<WebhookState webhook={webhook} />}>
        <Facts items={[
            ['Webhook', <Id value={webhook.webhook_id} what="webhook id" />],
            ['Events', webhook.types.length === 0 ? 'all' : webhook.types.join(', ')],
            ['Sent up to number', <span class="num">{webhook.sent_through}</span>],
            webhook.next_attempt_at ? ['Tried again', <When at={webhook.next_attempt_at} />] : null,
            webhook.key_id ? ['Made by the key', <Id value={webhook.key_id} what="key id" />] : null,
            webhook.previous_secret_until
                ? ['The secret before signs until', <When at={webhook.previous_secret_until} />] : null,
            ['Made', <When at={webhook.created_at} />],
        ]} />
        <Actions webhook={webhook} onSecret={onSecret} />
    </Panel>;
}

function Actions({ webhook, onSecret }: { webhook: Webhook; onSecret: (issued: IssuedWebhook) => void }) {
    const [asked, setAsked] = useState<'edit' | 'rotate' | 'end'>();
    const path = { id: webhook.webhook_id };
    const close = () => setAsked(undefined);
    const test = useChange('test_webhook', {
        refresh: ['list_webhook_deliveries'], done: () => toast('A test is on its way.') });
    const change = useChange('change_webhook', { refresh: ['show_webhook', 'list_webhooks'] });
    const rotate = useChange('rotate_webhook_secret', {
        refresh: ['show_webhook'], done: (issued) => { close(); onSecret(issued); } });
    const end = useChange('delete_webhook', {
        refresh: ['list_webhooks'], done: () => { toast('The webhook is gone.'); go('/account/webhooks'); } });
    const isExpired = change.error?.code === 'EVENTS_EXPIRED';
    return <>
        <div class="actions">
            <Button kind="primary" busy={test.busy} onClick={() => void test.run({ path })}>Send a test</Button>
            <Button busy={change.busy} onClick={() => void change.run({ path, body: { enabled: !webhook.enabled } })}>
                {webhook.enabled ? 'Pause' : 'Let it go on'}
            </Button>
            <Button onClick={() => setAsked('edit')}>Change</Button>
            <Button onClick={() => setAsked('rotate')}>New secret</Button>
            <Button kind="danger" onClick={() => setAsked('end')}>Delete</Button>
        </div>
        {test.error && <Failure error={test.error} />}
        {change.error && <Failure error={change.error} />}
        {isExpired && <div class="actions"><Button onClick={() => void change.run({
            path, body: { enabled: true, from: 'now' } })}>Go on from now, without what was missed</Button></div>}
        {asked === 'edit' && <Edit webhook={webhook} onClose={close} />}
        {asked === 'rotate' && <Ask title="Make a new secret?" action="Make it" busy={rotate.busy} error={rotate.error}
            onClose={close} onDo={() => void rotate.run({ path })}>
            <p>For 24 hours both secrets sign, so that your server can change over.</p>
        </Ask>}
        {asked === 'end' && <Ask title="Delete this webhook?" action="Delete it" keep="Keep it" busy={end.busy}
            error={end.error} onClose={close} onDo={() => void end.run({ path })}>
            <p>Nothing more is sent, and what it sent is forgotten. The events themselves stay.</p>
        </Ask>}
    </>;
}

function Edit({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
    const [url, setUrl] = useState(webhook.url);
    const [types, setTypes] = useState<string[]>(webhook.types);
    const change = useChange('change_webhook', {
        refresh: ['show_webhook', 'list_webhooks'], done: () => { onClose(); toast('Changed.'); } });
    const [told, toldTypes] = ['body.url', 'body.types'].map((member) => fieldError(change.error, member));
    return <Sheet title="Change the webhook" open onClose={onClose}
        onSubmit={() => void change.run({ path: { id: webhook.webhook_id }, body: { url: url.trim(), types } })}
        actions={<>
            <Button type="submit" kind="primary" busy={change.busy}>Change it</Button>
            <Button onClick={onClose}>Cancel</Button>
        </>}>
        <Field label="Address" error={told}>
            {(ids) => <TextInput {...ids} type="url" inputMode="url" mono value={url} onInput={setUrl} />}
        </Field>
        <TypeChoice types={types} setTypes={setTypes} error={toldTypes} />
        {change.error && !told && !toldTypes && <Failure error={change.error} />}
    </Sheet>;
}
