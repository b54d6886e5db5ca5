// API keys: what each may do, when it was used, and its end.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, usePages } from '../../api';
import { Ago, When, moneyText, plural } from '../../format';
import { Badge, Button, Empty, Failure, Loading, More, Notice, Panel, Sheet, Table, toast } from '../../kit';
import { Ask } from './ask';
import { NewKey, type Made } from './new_key';
import { Secret, useSecret } from './secret';

type Key = Item<'list_api_keys'>;

export function Keys() {
    const list = usePages('list_api_keys');
    const [isNew, setIsNew] = useState(false);
    const [made, setMade] = useSecret<Made>();
    const [ending, setEnding] = useState<Key>();
    return <>
        {made && <MadeNotice made={made} onDone={() => setMade(undefined)} />}
        <Panel title="Keys" flush footer="A key acts for you, within its limits. Programs send it as a bearer token."
            aside={<Button small kind="primary" onClick={() => setIsNew(true)}>Make a key</Button>}>
            {list.error && <Failure error={list.error} retry={list.refetch} />}
            {list.isLoading && <Loading rows={3} />}
            {list.items?.length === 0 && <Empty title="No key yet."
                action={<Button kind="primary" onClick={() => setIsNew(true)}>Make a key</Button>}>
                A key lets a program rent, chat or host for you. Give it a limit: a lost one costs that much at most.
            </Empty>}
            {list.items && list.items.length > 0 && <KeyTable keys={list.items} end={setEnding} />}
            <More list={list} />
        </Panel>
        <Sheet title="Make a key" open={isNew} onClose={() => setIsNew(false)}>
            {isNew && <NewKey onClose={() => setIsNew(false)} onMade={(key) => { setIsNew(false); setMade(key); }} />}
        </Sheet>
        {ending && <End apiKey={ending} onClose={() => setEnding(undefined)} />}
    </>;
}

function KeyTable({ keys, end }: { keys: Key[]; end: (key: Key) => void }) {
    return <Table caption="Your API keys, newest first" rows={keys} keyOf={({ key_id }) => key_id} columns={[
        { head: 'Name', cell: (key) => <div class="tight">
            <span class="strong">{key.name}</span><span class="mono tiny muted">{key.prefix}…</span>
        </div> },
        { head: 'May', cell: (key) => <span class="row">{key.scopes.map((scope) =>
            <Badge key={scope} plain tone="slack">{scope === 'host' ? 'host' : 'rent'}</Badge>)}</span> },
        { head: 'Limits', cell: (key) => <Limits policy={key.policy} /> },
        { head: 'Last used', cell: (key) => key.last_used_at ? <Ago at={key.last_used_at} />
            : <span class="muted">never</span> },
        { head: 'Ends', cell: (key) => key.expires_at ? <When at={key.expires_at} />
            : <span class="muted">not by itself</span> },
        { head: <span class="sr">Action</span>, right: true,
            cell: (key) => <Button small onClick={() => end(key)}>Revoke</Button> },
    ]} />;
}

function Limits({ policy }: { policy: Key['policy'] }) {
    if (!policy) return <span class="muted">none: all that you have</span>;
    const parts = [
        policy.per_day_micro && `${moneyText(policy.per_day_micro, 2)} a day`,
        policy.max_hold_micro && `${moneyText(policy.max_hold_micro, 2)} held at once`,
        policy.max_rate_micro_per_hour && `${moneyText(policy.max_rate_micro_per_hour, 4)} an hour`,
        policy.max_open_rentals !== undefined && policy.max_open_rentals !== null
            && `${plural(policy.max_open_rentals, 'rental')} at once`,
        policy.classes?.length && `${policy.classes.join(', ')} machines`,
        policy.templates?.length && `${plural(policy.templates.length, 'template')}`,
        policy.withdraw === 'saved' ? 'may withdraw to saved addresses' : 'sends nothing out',
    ].filter(Boolean);
    return <span class="small">{parts.join(' · ')}</span>;
}

function MadeNotice({ made, onDone }: { made: Made; onDone: () => void }) {
    if (!made.secret) {
        return <Notice tone="lamp" title={`The key “${made.name}” is made, but its secret did not arrive`}
            actions={<Button onClick={onDone}>Close</Button>}>
            The line broke in between. It is shown once only: revoke this key and make another.
        </Notice>;
    }
    return <Notice tone="go" role="status" title={`The key “${made.name}” is made`}
        actions={<Button onClick={onDone}>I have kept it</Button>}>
        <div class="tight">
            <p>Its secret is shown now and never again.</p>
            <Secret text={made.secret} label="the secret of the key" />
        </div>
    </Notice>;
}

function End({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
    const revoke = useChange('revoke_api_key', {
        refresh: ['list_api_keys', 'list_webhooks'],
        done: () => { onClose(); toast(`“${apiKey.name}” is revoked.`); },
    });
    return <Ask title={`Revoke “${apiKey.name}”?`} action="Revoke it" keep="Keep it" busy={revoke.busy}
        error={revoke.error} onClose={onClose} onDo={() => void revoke.run({ path: { id: apiKey.key_id } })}>
        <p>Programs that use it are refused from this moment on. What they have rented goes on until you stop it.
            Its webhooks end with it.</p>
    </Ask>;
}
