// Linked wallets: what comes from one of them is credited to the account.
import { useState } from 'preact/hooks';
import { useChange, useRead } from '../../api';
import { When } from '../../format';
import { Async, Button, Copy, Empty, Failure, Notice, Panel, Table, toast } from '../../kit';
import { LinkByHand } from '../money/link_by_hand';
import { useLinking, type Binding } from '../money/linking';
import { brief, findWallet } from '../money/wallet';
import { Ask } from './ask';

export function Wallets() {
    const read = useRead('list_wallets');
    const [ending, setEnding] = useState<Binding>();
    const linking = useLinking(read.data?.items ?? [], (binding) => toast(`${brief(binding.address)} is linked.`));
    return <Panel title="Linked wallets" flush
        aside={findWallet() && <Button small busy={linking.step !== 'idle'} onClick={() => void linking.run()}>
            {linking.step === 'signing' ? 'Sign the text in your wallet' : 'Link a wallet'}</Button>}
        footer={<LinkByHand onDone={(binding) => toast(`${brief(binding.address)} is linked.`)} />}>
        {linking.fault && <Notice tone={linking.fault.isRefusal ? 'lamp' : 'stop'} role="alert"
            title={linking.fault.message} />}
        {linking.error && <Failure error={linking.error} />}
        <Async read={read} rows={2}>{({ items }) => {
            const linked = items.filter(({ unlinked_at }) => !unlinked_at);
            if (linked.length === 0) {
                return <Empty title="None linked.">Money that you send comes from a wallet. Linking it, once, says that
                    it is yours.</Empty>;
            }
            return <Table caption="Wallets that are linked to the account" rows={linked}
                keyOf={({ binding_id }) => binding_id} columns={[
                    { head: 'Address', cell: (row) => <span class="mono" title={row.address}>{brief(row.address)}{' '}
                        <Copy text={row.address} label="the address" /></span> },
                    { head: 'Linked', cell: (row) => <When at={row.linked_at} /> },
                    { head: <span class="sr">Action</span>, right: true,
                        cell: (row) => <Button small onClick={() => setEnding(row)}>Unlink</Button> },
                ]} />;
        }}</Async>
        {ending && <Unlink binding={ending} onClose={() => setEnding(undefined)} />}
    </Panel>;
}

function Unlink({ binding, onClose }: { binding: Binding; onClose: () => void }) {
    const unlink = useChange('unlink_wallet', {
        refresh: ['list_wallets'], done: () => { onClose(); toast(`${brief(binding.address)} is unlinked.`); } });
    return <Ask title={`Unlink ${brief(binding.address)}?`} action="Unlink it" keep="Keep it" busy={unlink.busy}
        error={unlink.error} onClose={onClose}
        onDo={() => void unlink.run({ path: { binding_id: binding.binding_id } })}>
        <p>What it sends from now on is not credited. No other account can link it.</p>
    </Ask>;
}
