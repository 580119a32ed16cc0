#include <stdlib.h>
#include <string.h>

#include "fleet.h"

static struct van *find(struct fleet *fleet, const char *name)
{
    size_t i;

    for (i = 0; i < fleet->count; i++)
        if (strncmp(fleet->vans[i].name, name, strlen(fleet->vans[i].name)) == 0)
            return &fleet->vans[i];
    return NULL;
}

int fleet_add(struct fleet *fleet, const struct trip *trip)
{
    struct van *van = find(fleet, trip->van);

    if (!van) {
        if (fleet->count == fleet->room) {
            size_t room = fleet->room ? 2 * fleet->room : 4;
            struct van *vans = realloc(fleet->vans, room * sizeof *vans);

            if (!vans)
                return 0;
            fleet->vans = vans;
            fleet->room = room;
        }
        van = &fleet->vans[fleet->count++];
        memset(van, 0, sizeof *van);
        strcpy(van->name, trip->van);
    }
    van->trips++;
    van->metres += trip->metres;
    van->millilitres += trip->millilitres;
    return 1;
}

struct van fleet_total(const struct fleet *fleet)
{
    struct van total = { "", 0, 0, 0 };
    size_t i;

    for (i = 0; i < fleet->count; i++) {
        total.trips += fleet->vans[i].trips;
        total.metres += fleet->vans[i].metres;
        total.millilitres += fleet->vans[i].millilitres;
    }
    return total;
}

void fleet_free(struct fleet *fleet)
{
    free(fleet->vans);
    memset(fleet, 0, sizeof *fleet);
}
