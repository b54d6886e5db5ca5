// The form to rent, fetched when somebody comes near it: the catalog is there sooner without it.
import { BerthError } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { Failure, Loading } from '../../kit';
import { loadAnew } from '../../lazy';
import type { RentFormProps } from './rent_form';

type Form = typeof import('./rent_form')['RentForm'];
let loaded: Form | undefined;

async function load(): Promise<Form> {
    loaded ??= (await import('./rent_form')).RentForm;
    return loaded;
}

/** A part that cannot be had now is asked for again when it is needed. */
export function preloadRentForm(): void {
    load().catch(() => {});
}

export function LazyRentForm(props: RentFormProps) {
    const [Form, setForm] = useState<Form | undefined>(() => loaded);
    const [error, setError] = useState<BerthError>();
    const fetchIt = async () => {
        setError(undefined);
        try {
            const form = await load();
            setForm(() => form);
        } catch {
            if (!await loadAnew()) setError(new BerthError('NETWORK', 'the form could not be loaded'));
        }
    };
    useEffect(() => { if (!Form) void fetchIt(); }, []);
    if (error) return <Failure error={error} retry={() => void fetchIt()} />;
    return Form ? <Form {...props} /> : <Loading rows={5} />;
}
