// Where one is signed in.
import type { Item, OperationName } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, usePages, type Change } from '../../api';
import { Ago, When, visible } from '../../format';
import { Badge, Button, Failure, Loading, More, Panel, Table, toast } from '../../kit';
import { sessionChanged } from '../../session';
import { Ask } from './ask';

type Session = Item<'list_sessions'>;
type EndOne = Omit<Change<'sign_out'>, 'run'> & { run(given: { path: { id: string } }): Promise<unknown> };

/** 'Firefox on Linux' out of what a browser calls itself. */
export function browserName(agent: string): string {
    const names: [RegExp, string][] = [[/Edg\//, 'Edge'], [/OPR\//, 'Opera'], [/Firefox\//, 'Firefox'],
        [/Chrom(e|ium)\//, 'Chrome'], [/Safari\//, 'Safari'], [/curl\//, 'curl']];
    const systems: [RegExp, string][] = [[/Android/, 'Android'], [/iPhone|iPad/, 'iOS'], [/Windows/, 'Windows'],
        [/Mac OS X/, 'macOS'], [/Linux/, 'Linux']];
    const found = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(agent))?.[1];
    const [name, system] = [found(names), found(systems)];
    return name ? system ? `${name} on ${system}` : name : visible(agent.slice(0, 60)) || 'Unknown';
}

export function Sessions() {
    const list = usePages('list_sessions');
    const [isEndingAll, setIsEndingAll] = useState(false);
    const endOne = useChange('revoke_session' as OperationName, {
        refresh: ['list_sessions'], done: () => toast('That session is over.') }) as unknown as EndOne;
    return <Panel title="Open sessions" flush footer="A session ends when it is not used for half an hour."
        aside={<Button small kind="danger" onClick={() => setIsEndingAll(true)}>End them all</Button>}>
        {list.error && <Failure error={list.error} retry={list.refetch} />}
        {endOne.error && <Failure error={endOne.error} />}
        {list.isLoading && <Loading rows={3} />}
        {list.items && <Table caption="Your open sessions, newest first" rows={list.items}
            keyOf={({ session_id }) => session_id} columns={[
                { head: 'Browser', cell: (row) => <Browser session={row} /> },
                { head: 'From', cell: (row) => <span class="mono small">{row.network_address}</span> },
                { head: 'Opened', cell: (row) => <When at={row.created_at} /> },
                { head: 'Last seen', cell: (row) => <Ago at={row.last_seen_at} /> },
                { head: <span class="sr">Action</span>, right: true, cell: (row) => !row.current
                    && <Button small busy={endOne.busy}
                        onClick={() => void endOne.run({ path: { id: row.session_id } })}>End it</Button> },
            ]} />}
        <More list={list} />
        {isEndingAll && <EndAll onClose={() => setIsEndingAll(false)} />}
    </Panel>;
}

function Browser({ session }: { session: Session }) {
    return <span class="row" title={visible(session.user_agent)}>
        <span>{browserName(session.user_agent)}</span>
        {session.current && <Badge tone="go">This one</Badge>}
        {session.mfa_required && <Badge tone="lamp">No second factor yet</Badge>}
    </span>;
}

function EndAll({ onClose }: { onClose: () => void }) {
    const revoke = useChange('revoke_sessions', { done: () => { onClose(); sessionChanged(); } });
    return <Ask title="End every session?" action="End them all" busy={revoke.busy} error={revoke.error}
        onClose={onClose} onDo={() => void revoke.run({})}>
        <p>This one, too: you sign in again afterwards. API keys and rentals go on.</p>
    </Ask>;
}
