// The form to rent, fetched when somebody comes near it: the catalog is there sooner without it.
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../../kit';
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
    useEffect(() => {
        if (!Form) load().then((form) => setForm(() => form), () => location.reload());
    }, []);
    return Form ? <Form {...props} /> : <Loading rows={5} />;
}
