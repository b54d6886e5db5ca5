// A refund, or the end of a dispute: every pocket before it is done, and a sum that is zero.
import type { Answer } from 'berth-client';
import { Facts, Field, Notice, Select } from '../../kit';
import { Money, plural } from '../../format';

type Preview = Answer<'preview_refund'>;

/** What leaves the host and the fee is what the renter gets. */
export function Pockets({ preview, asset }: { preview: Preview; asset: string }) {
    const sum = BigInt(preview.amount_micro) - BigInt(preview.host_micro) - BigInt(preview.fee_micro);
    return <>
        <Facts items={[
            ['To the renter', <Money micro={preview.amount_micro} asset={asset} places={6} sign />],
            ['From the host', <Money micro={-BigInt(preview.host_micro)} asset={asset} places={6} />],
            ['From the fee', <Money micro={-BigInt(preview.fee_micro)} asset={asset} places={6} />],
            ['Sum', <Money micro={sum} asset={asset} places={6} />],
            ['Refunded of this rental then', <Money micro={preview.refunded_total_micro} asset={asset} places={6} />],
        ]} />
        {preview.needs_bearer && <Notice tone="lamp" title="The host has been paid already">
            {`${plural(preview.burden.called_back.length, 'payout')} would be called back; somebody bears the rest.`}
        </Notice>}
    </>;
}

/** Stays once somebody is chosen, since the preview then needs nobody any more. */
export function BearerField({ preview, bearer, onChange }: {
    preview: Preview | undefined; bearer: string; onChange: (bearer: string) => void;
}) {
    if (!preview?.needs_bearer && bearer === '') return null;
    return <Field label="Who bears what the host has not">
        {(ids) => <Select {...ids} value={bearer} onChange={onChange} options={[['', 'Choose'],
            ['host_debt', 'The host, as a debt'], ['platform', 'We do']]} />}
    </Field>;
}
