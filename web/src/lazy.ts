// Views that are loaded when they are wanted. After a deploy the part that an open page names is gone:
// the page is then loaded anew, once, at the address that was wanted.
import type { FunctionComponent } from 'preact';
import { lazy } from 'preact-iso';

const reloadedFor = 'reloadedFor';

export function view(load: () => Promise<{ default: FunctionComponent }>): FunctionComponent {
    return lazy(async () => {
        try {
            return await load();
        } catch (fault) {
            if (history.state?.[reloadedFor] === location.pathname) throw fault;
            history.replaceState({ ...history.state, [reloadedFor]: location.pathname }, '');
            location.reload();
            return await new Promise<never>(() => {});
        }
    }) as FunctionComponent;
}
