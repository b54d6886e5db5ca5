// Who did what, and why. Each record holds the hash of the one before.
import { Id, When, visible } from '../../format';
import { Page } from '../../kit';
import { DeskList } from './desk_list';

export default function Audit() {
    return <Page title="Audit" facts="Every step of an operator, chained by hash: none can be taken out unseen.">
        <DeskList operation="list_audit_events" caption="Audit" keyOf={({ audit_event_id }) => audit_event_id}
            filters={[{ name: 'action', label: 'Action' }, { name: 'actor', label: 'Actor' },
                { name: 'target_kind', label: 'Kind of target' }, { name: 'target_id', label: 'Target' }]}
            empty="Nothing matches." columns={[
                { head: 'When', cell: ({ at }) => <When at={at} /> },
                { head: 'Action', cell: ({ action, audit_event_id }) => <><span class="strong">{action}</span><small><Id value={audit_event_id} /></small></> },
                { head: 'By', cell: ({ actor }) => <Named {...actor} /> },
                { head: 'Of', cell: ({ target }) => <Named {...target} /> },
                { head: 'Changed', cell: ({ changes }) => <ul>{changes.map(({ field, from, to }) =>
                    <li key={field} class="wraps">{field}: {clipped(from)} → {clipped(to)}</li>)}</ul>, narrow: 'hide' },
                { head: 'Why', cell: ({ reason }) => <span class="wraps">{visible(reason ?? '')}</span> },
                { head: 'Hash', cell: ({ hash }) => <span class="mono tiny" title={hash}>{hash.slice(0, 10)}</span>, narrow: 'hide' },
            ]} />
    </Page>;
}

function Named({ kind, id }: { kind: string; id?: string | null | undefined }) {
    return <>{kind}{id && <small>{/^[0-9a-f-]{36}$/.test(id) ? <Id value={id} /> : id}</small>}</>;
}

const shownMax = 120;
function clipped(value: string | null): string {
    if (value === null) return 'nothing';
    const text = visible(value.slice(0, shownMax));
    return value.length > shownMax ? `${text}… (${value.length} characters)` : text;
}
