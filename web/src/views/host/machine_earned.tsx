// What one machine earned, day by day.
import { useState } from 'preact/hooks';
import { useRead } from '../../api';
import { Money, percent } from '../../format';
import { Async, Bars, Empty, Panel, Segmented, Stats } from '../../kit';
import type { Machine } from './later';
import { barsOf, percentOfBps, sumOf } from './parts';

const windows: [string, string][] = [['7', '7 d'], ['30', '30 d'], ['90', '90 d']];

export function MachineEarned({ id, machine }: { id: string; machine: Machine }) {
    const [days, setDays] = useState('30');
    const read = useRead('show_machine_earnings', { path: { id }, query: { window: `${days}d` } }, { every: 60 });
    const fee = useRead('show_earnings', {}, { every: 60 }).data?.fee_bps;
    const rented = machine.hours?.rented_bps;
    return <Panel title="Earned by day"
        aside={<Segmented label="How many days" value={days} onChange={setDays} options={windows} />}>
        <Async read={read} rows={5}>{(told) => {
            const earned = sumOf(told.days.map(({ earned_micro }) => earned_micro));
            const rentals = told.days.reduce((sum, { rental_count }) => sum + rental_count, 0);
            if (rentals === 0 && earned === 0n) {
                return <Empty title="Nothing in these days.">
                    What renters pay for it stands here, a bar for each day, after the fee.
                </Empty>;
            }
            return <div class="stack">
                <Stats items={[
                    [`Earned, ${days} days`, <Money micro={earned} asset={null} />,
                        fee === undefined ? 'USDC after the fee' : `USDC after the ${percentOfBps(fee)} fee`],
                    ['Rentals', String(rentals), `in ${days} days`],
                    rented != null && ['Rented', percent(rented / 10_000),
                        `of the time it was for rent, ${machine.hours?.window_days} days`],
                ]} />
                <Bars days={barsOf(told.days)} label="Earned after the fee by day, USDC" scale={1_000_000} />
            </div>;
        }}</Async>
    </Panel>;
}
