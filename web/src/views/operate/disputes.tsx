// What renters and hosts disagree about.
import { Ago, Id, Money, visible } from '../../format';
import { Badge, Page } from '../../kit';
import { disputeState } from '../../words';
import { choices, DeskList } from './desk_list';

export default function Disputes() {
    return <Page title="Disputes" facts={<>Open ones first. <a href="/operate/refunds">Refunds</a></>}>
        <DeskList operation="list_disputes" caption="Disputes" keyOf={({ dispute_id }) => dispute_id}
            href={({ dispute_id }) => `/operate/disputes/${dispute_id}`}
            filters={[{ name: 'state', label: 'State', options: choices(['open', 'closed'], (state) => disputeState(state).word) },
                { name: 'job_id', label: 'Rental' }, { name: 'renter', label: 'Renter' }, { name: 'host', label: 'Host' }]}
            empty="Nobody disagrees." columns={[
                { head: 'Dispute', cell: ({ reason, dispute_id }) => <><span class="strong wraps">{visible(reason)}</span><small><Id value={dispute_id} /></small></> },
                { head: 'State', cell: ({ state, outcome }) => <Badge tone={disputeState(state).tone}>{disputeState(outcome ?? state).word}</Badge> },
                { head: 'Rental', cell: ({ job_id }) => <Id value={job_id} />, narrow: 'hide' },
                { head: 'Amount', right: true, cell: ({ amount_micro, asset }) => <Money micro={amount_micro} asset={asset} /> },
                { head: 'Opened', right: true, cell: ({ created_at }) => <Ago at={created_at} /> },
            ]} />
    </Page>;
}
