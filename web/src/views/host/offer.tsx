// What should I ask? A price beside those of like machines, what is left after the fee, dates and versions.
import { useRead, usePages } from '../../api';
import { Rate, When } from '../../format';
import { Async, Badge, Empty, Failure, Loading, More, Page, Panel, Table } from '../../kit';
import { useParams } from '../../router';
import { availabilityClass, offerState } from '../../words';
import { useMachine, type Machine } from './later';
import { OfferForm } from './offer_form';
import { gpusOf, nameOf } from './parts';

export default function OfferView() {
    const { id = '' } = useParams();
    const machine = useMachine(id, 60);
    const told = machine.data;
    return <Page title={told?.current_offer ? 'Edit the price' : 'Set a price'}
        facts={told && <span>{gpusOf(told)}</span>}
        crumbs={[['Machines', '/host'], [told ? nameOf(told) : 'Machine', `/host/machines/${id}`]]}>
        <div class="stack">
            <Async read={machine} rows={8}>{(known) => <Form id={id} machine={known} />}</Async>
            <Versions id={id} />
        </div>
    </Page>;
}

/** The form begins with the version that counts, so that is read first. */
function Form({ id, machine }: { id: string; machine: Machine }) {
    const current = useRead('list_offer_versions', { path: { id }, query: { limit: 1 } });
    const fee = useRead('show_earnings', {});
    const failed = [current, fee].find(({ error }) => error);
    if (failed) return <Failure error={failed.error} retry={failed.refetch} />;
    if (!current.data || !fee.data) return <Panel title="Price"><Loading rows={8} /></Panel>;
    return <OfferForm id={id} machine={machine} current={current.data.items[0]} feeBps={fee.data.fee_bps}
        onConflict={current.refetch} />;
}

function Versions({ id }: { id: string }) {
    const versions = usePages('list_offer_versions', { path: { id }, query: { limit: 20 } });
    return <Panel title="Versions" flush footer={versions.hasMore ? <More list={versions} /> : undefined}>
        {versions.error ? <Failure error={versions.error} retry={versions.refetch} />
            : !versions.items ? <Loading rows={3} />
            : versions.items.length === 0
                ? <Empty title="None yet.">
                    Each time you publish, the version before stays here. Rentals keep theirs.
                </Empty>
                : <Table dense caption="Versions of this offer, newest first" rows={versions.items}
                    keyOf={({ offer_version }) => offer_version} columns={[
                        { head: 'Version', cell: ({ offer_version }) => offer_version },
                        { head: 'Published', cell: ({ created_at }) => <When at={created_at} /> },
                        { head: 'An hour', right: true, cell: ({ rate_micro_per_hour }) =>
                            <Rate microPerHour={rate_micro_per_hour} /> },
                        { head: 'For rent until', cell: ({ available_until }) => <When at={available_until} /> },
                        { head: 'Included', narrow: 'hide', cell: ({ included_disk_gib, included_egress_gib }) =>
                            `${included_disk_gib} GiB disk, ${included_egress_gib} GiB traffic` },
                        { head: 'Class', narrow: 'hide', cell: ({ availability_class }) =>
                            availabilityClass(availability_class) },
                        { head: 'State', cell: ({ state }) =>
                            <Badge tone={offerState(state).tone}>{offerState(state).word}</Badge> },
                    ]} />}
    </Panel>;
}
