// Everything about the account as one file.
import { useChange } from '../../api';
import { Button, Failure, Notice, Panel } from '../../kit';
import { useState } from 'preact/hooks';
import { saveAs } from '../../save';

export function Export() {
    const [cut, setCut] = useState<string[]>([]);
    const get = useChange('export_account', {
        done: (answer) => {
            setCut(answer.cut);
            const text = JSON.stringify(answer, null, 2);
            saveAs(`account-${answer.made_at.slice(0, 10)}.json`, new Blob([text], { type: 'application/json' }));
        },
    });
    return <Panel title="Your data">
        <p class="soft">All that the service knows of you, as one JSON file: sessions, keys without their secrets,
            money, rentals, machines, tickets, and what was done to the account.</p>
        <div class="actions">
            <Button icon="download" busy={get.busy} onClick={() => void get.run({})}>Download it</Button>
        </div>
        {cut.length > 0 && <Notice title="Not all of it fits">
            <p>Too long to be whole: {cut.join(', ')}. The API pages through the rest.</p>
        </Notice>}
        {get.error && <Failure error={get.error} />}
    </Panel>;
}
