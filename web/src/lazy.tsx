// Views that are loaded when they are wanted. After a deploy the part that an open page names is gone:
// the page is then loaded anew, once, at the address that was wanted.
import type { FunctionComponent } from 'preact';
import { lazy } from 'preact-iso';
import { client } from './api';
import { Button, Empty, Page } from './kit';

const reloadedFor = 'reloadedFor';

/** Loads the page anew where that can help: the service answers, and it was not tried for this address. What stands
 * on the page would be lost to a line that is broken. */
export async function loadAnew(): Promise<boolean> {
    if (history.state?.[reloadedFor] === location.pathname) return false;
    if (!await client.call('public_status', { retries: 0 }).then(() => true, () => false)) return false;
    history.replaceState({ ...history.state, [reloadedFor]: location.pathname }, '');
    location.reload();
    return true;
}

function Missing() {
    return <Page title="Not loaded">
        <Empty title="This part of the console could not be loaded."
            action={<Button kind="primary" onClick={() => location.reload()}>Load the page again</Button>}>
            Look at your connection first. What you were at before is a step back.
        </Empty>
    </Page>;
}

export function view(load: () => Promise<{ default: FunctionComponent }>): FunctionComponent {
    return lazy(async () => {
        try {
            return await load();
        } catch {
            return await loadAnew() ? await new Promise<never>(() => {}) : { default: Missing };
        }
    }) as FunctionComponent;
}
