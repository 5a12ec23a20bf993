// The screens, each with its address, its place in the menu, and the scope that opens it. A screen
// is loaded when it is first opened.

import { type ComponentType, lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import type { IconName } from './parts/icons.tsx';
import { Loading } from './parts/loading.tsx';
import { NeedsScope } from './parts/needs-scope.tsx';
import { NotFound } from './parts/not-found.tsx';
import type { Scope } from './service/me.tsx';
import { texts } from './texts.ts';

interface Screen {
  readonly path: string;
  /** Null: whoever is signed in. */
  readonly scope: Scope | null;
  /** What the menu calls it; undefined: another screen leads there. */
  readonly title?: string;
  readonly icon?: IconName;
  /** Quantities there may be of a moment. */
  readonly hasMoment?: boolean;
  load(): Promise<ComponentType>;
}

const { menu } = texts;

export const allScreens: readonly Screen[] = [
  {
    path: '/',
    scope: 'inventory.read',
    title: menu.stock,
    icon: 'stock',
    hasMoment: true,
    load: async () => (await import('./screens/stock/stock.tsx')).StockScreen,
  },
  {
    path: '/overview',
    scope: 'inventory.read',
    title: menu.overview,
    icon: 'overview',
    load: async () => (await import('./screens/overview/overview.tsx')).OverviewScreen,
  },
  {
    path: '/count',
    scope: 'inventory.write',
    title: menu.count,
    icon: 'count',
    load: async () => (await import('./screens/count/count.tsx')).CountScreen,
  },
  {
    path: '/move',
    scope: 'inventory.write',
    title: menu.move,
    icon: 'move',
    load: async () => (await import('./screens/move/move.tsx')).MoveScreen,
  },
  {
    path: '/movements',
    scope: 'inventory.read',
    title: menu.movements,
    icon: 'movements',
    load: async () => (await import('./screens/movements/movements.tsx')).MovementsScreen,
  },
  {
    path: '/requests',
    scope: 'operations.read',
    title: menu.operations,
    icon: 'operations',
    load: async () => (await import('./screens/requests/requests.tsx')).RequestsScreen,
  },
  {
    path: '/customers',
    scope: 'customers.read',
    title: menu.customers,
    icon: 'customers',
    load: async () => (await import('./screens/customers/customers.tsx')).CustomersScreen,
  },
  {
    path: '/locations',
    scope: 'locations.read',
    title: menu.locations,
    icon: 'locations',
    load: async () => (await import('./screens/locations/locations.tsx')).LocationsScreen,
  },
  {
    path: '/exchange',
    scope: 'products.read',
    title: menu.exchange,
    icon: 'transferFile',
    load: async () => (await import('./screens/exchange/exchange.tsx')).ExchangeScreen,
  },
  {
    path: '/webhooks',
    scope: 'webhooks.read',
    title: menu.webhooks,
    icon: 'webhooks',
    load: async () => (await import('./screens/webhooks/webhooks.tsx')).WebhooksScreen,
  },
  {
    path: '/people',
    scope: 'access.read',
    title: menu.people,
    icon: 'people',
    load: async () => (await import('./screens/people/people.tsx')).PeopleScreen,
  },
  {
    path: '/products/:id',
    scope: 'products.read',
    hasMoment: true,
    load: async () => (await import('./screens/product/product.tsx')).ProductScreen,
  },
  {
    path: '/me',
    scope: null,
    load: async () => (await import('./screens/me/me.tsx')).MeScreen,
  },
];

const routes = allScreens.map(({ path, scope, load }) => {
  const Found = lazy(async () => ({ default: await load() }));
  return { path, scope, Found };
});

/** The one that the address names. */
export function Screens() {
  return (
    <Suspense fallback={<Loading />}>
      <Routes>
        {routes.map(({ path, scope, Found }) => (
          <Route
            key={path}
            path={path}
            element={
              <NeedsScope scope={scope}>
                <Found />
              </NeedsScope>
            }
          />
        ))}
        <Route path="*" element={<NotFound />} />
      </Routes>
    </Suspense>
  );
}
