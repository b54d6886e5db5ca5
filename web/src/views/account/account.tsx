// Who can act for me? One tab a question, each with its own address.
import type { FunctionComponent } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button, Empty, Page, Tabs } from '../../kit';
import { useParams } from '../../router';
import { Addresses } from './addresses';
import { Events } from './events';
import { Hub } from './hub';
import { Keys } from './keys';
import { Notices } from './notices';
import { Security } from './security';
import { Sessions } from './sessions';
import { Webhooks } from './webhooks';

const tabs: Record<string, [label: string, view: FunctionComponent]> = {
    keys: ['API keys', Keys],
    security: ['Security', Security],
    sessions: ['Sessions', Sessions],
    addresses: ['Addresses', Addresses],
    hub: ['Model hub', Hub],
    events: ['Events', Events],
    webhooks: ['Webhooks', Webhooks],
    notices: ['Mail', Notices],
};

export default function Account() {
    const name = useParams()['tab'] ?? 'keys';
    const [label, View] = (Object.hasOwn(tabs, name) && tabs[name]) || ['Account', Nowhere];
    // On a phone the tabs scroll sideways.
    useEffect(() => document.querySelector('.tabs [aria-current]')
        ?.scrollIntoView({ inline: 'center', block: 'nearest' }), [name]);
    return <Page title={label} crumbs={[['Account', '/account/keys']]}>
        <div class="stack">
            <Tabs label="Parts of the account" current={`/account/${name}`}
                items={Object.entries(tabs).map(([each, [text]]): [string, string] => [text, `/account/${each}`])} />
            <View key={name} />
        </div>
    </Page>;
}

function Nowhere() {
    return <Empty title="The account has no such part." action={<Button href="/account/keys">API keys</Button>} />;
}
