// The last rentals of one machine; who rented is nobody's business.
import { Duration, Id, Money, When } from '../../format';
import { Badge, Empty, Panel, Table } from '../../kit';
import { endReason, jobState } from '../../words';
import type { Machine } from './later';
import { lowered } from './parts';

type Recent = NonNullable<Machine['recent_jobs']>[number] & { end_reason?: string | null };

function howItEnded(rental: Recent): string {
    if (rental.failure) return lowered(rental.failure.message);
    if (rental.ready === false) return 'never came up, nothing was billed';
    return rental.end_reason ? lowered(endReason(rental.end_reason)) : '';
}

export function MachineRentals({ machine }: { machine: Machine }) {
    const rentals: Recent[] = machine.recent_jobs ?? [];
    return <Panel title="Last rentals" flush aside={<a class="small" href="/host/earnings#rentals">All</a>}>
        {rentals.length === 0
            ? <Empty title="None yet.">Each rental stands here with how long it ran and what you earned.</Empty>
            : <Table dense caption="The last rentals of this machine" rows={rentals} keyOf={({ job_id }) => job_id}
                columns={[
                { head: 'Rental', cell: ({ job_id }) => <Id value={job_id} what="rental id" /> },
                { head: 'Ended', cell: (rental) => rental.ended_at === null
                    ? <Badge tone={jobState(rental.state).tone}>{jobState(rental.state).word}</Badge>
                    : <span><When at={rental.ended_at} />{howItEnded(rental) && `, ${howItEnded(rental)}`}
                        {rental.clean_error && <span class="bad"> Not wiped: {rental.clean_error}</span>}</span> },
                { head: 'Ran', right: true, cell: ({ billed_ms }) => <Duration ms={billed_ms ?? '0'} /> },
                { head: 'You earned', right: true, cell: ({ earned_micro }) =>
                    <Money micro={earned_micro ?? '0'} places={4} asset={null} /> },
            ]} />}
    </Panel>;
}
