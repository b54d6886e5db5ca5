// What was given back, and by whom.
import { Id, Money, When, visible } from '../../format';
import { Page } from '../../kit';
import { DeskList } from './desk_list';

export default function Refunds() {
    return <Page title="Refunds" crumbs={[['Disputes', '/operate/disputes']]}>
        <DeskList operation="list_refunds" caption="Refunds" keyOf={({ refund_id }) => refund_id}
            href={({ job_id }) => `/operate/rentals/${job_id}`}
            filters={[{ name: 'job_id', label: 'Rental' }, { name: 'account', label: 'Renter or host' }]}
            empty="Nothing was refunded." columns={[
                { head: 'Refund', cell: ({ reason, refund_id }) => <><span class="wraps">{visible(reason ?? 'The record does not say why')}</span><small><Id value={refund_id} /></small></> },
                { head: 'Rental', cell: ({ job_id }) => <Id value={job_id} /> },
                { head: 'From the host', right: true, narrow: 'hide', cell: ({ host_micro }) => <Money micro={host_micro} asset={null} /> },
                { head: 'From the fee', right: true, narrow: 'hide', cell: ({ fee_micro }) => <Money micro={fee_micro} asset={null} /> },
                { head: 'Amount', right: true, cell: ({ amount_micro, asset }) => <Money micro={amount_micro} asset={asset} /> },
                { head: 'When', right: true, cell: ({ created_at }) => <When at={created_at} /> },
            ]} />
    </Page>;
}
