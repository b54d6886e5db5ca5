// Tickets of everybody, those that wait for an answer first.
import { Ago, Id, visible } from '../../format';
import { Badge, Page } from '../../kit';
import { choices, DeskList } from './desk_list';

const tones: Record<string, 'lamp' | 'go' | 'slack'> = { open: 'lamp', answered: 'go', closed: 'slack' };
const words: Record<string, string> = { open: 'Waits for us', answered: 'Answered', closed: 'Closed' };

export default function Tickets() {
    return <Page title="Tickets" facts="What renters and hosts ask.">
        <DeskList operation="list_tickets" caption="Tickets" keyOf={({ ticket_id }) => ticket_id}
            href={({ ticket_id }) => `/help/${ticket_id}`}
            filters={[{ name: 'state', label: 'State', options: choices(['open', 'answered', 'closed'],
                (state) => words[state] ?? state) }, { name: 'account_id', label: 'Account' }]}
            empty="Nobody waits." columns={[
                { head: 'About', cell: ({ category, text }) => <><span class="strong">{visible(category)}</span><small class="clip">{visible(text)}</small></> },
                { head: 'State', cell: ({ state }) => <Badge tone={tones[state] ?? 'slack'}>{words[state] ?? state}</Badge> },
                { head: 'Account', cell: ({ account_id }) => <Id value={account_id} />, narrow: 'hide' },
                { head: 'Rental', cell: ({ job_id }) => job_id ? <Id value={job_id} /> : 'none', narrow: 'hide' },
                { head: 'Written', cell: ({ updated_at }) => <Ago at={updated_at} />, right: true },
            ]} />
    </Page>;
}
