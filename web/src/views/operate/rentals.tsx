// Every rental of the market.
import { Id, Money, When } from '../../format';
import { Badge, Page } from '../../kit';
import { endReason, jobState } from '../../words';
import { choices, DeskList } from './desk_list';

const states = ['RESERVED', 'STARTING', 'READY', 'RUNNING', 'STOPPING', 'STOPPED', 'FAILED', 'CLOSED'];

export default function AllRentals() {
    return <Page title="Rentals" facts="Of everybody.">
        <DeskList operation="list_all_jobs" caption="Rentals" every={15} keyOf={({ job_id }) => job_id}
            href={({ job_id }) => `/operate/rentals/${job_id}`}
            filters={[{ name: 'state', label: 'State', options: choices(states, (state) => jobState(state).word) },
                { name: 'renter', label: 'Renter' }, { name: 'host', label: 'Host' }, { name: 'machine', label: 'Machine' }]}
            empty="No rental matches." columns={[
                { head: 'Rental', cell: ({ template, job_id }) => <><span class="strong">{template?.name ?? 'An image of the renter'}</span><small><Id value={job_id} /></small></> },
                { head: 'State', cell: ({ state }) => <Badge state={state}>{jobState(state).word}</Badge> },
                { head: 'Ended by', cell: ({ end_reason }) => end_reason ? endReason(end_reason) : '', narrow: 'hide' },
                { head: 'Charged', right: true, cell: ({ cumulative_charge_micro, asset }) => <Money micro={cumulative_charge_micro} asset={asset} /> },
                { head: 'At most', right: true, narrow: 'hide', cell: ({ budget_micro }) => <Money micro={budget_micro} asset={null} /> },
                { head: 'Since', right: true, cell: ({ created_at }) => <When at={created_at} /> },
            ]} />
    </Page>;
}
