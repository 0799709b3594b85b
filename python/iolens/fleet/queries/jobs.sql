-- title: Jobs, with what the lake knows of each as numbers
-- definition: measured, of some jobs. Other queries are made of this one, and have its parameters.
-- parameter user (): only jobs of this user
-- parameter application (): only jobs of this application
-- parameter cluster (): only jobs of this cluster
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
SELECT * FROM fleet.measured
WHERE ($user = '' OR "user" = $user) AND ($application = '' OR application = $application)
    AND ($cluster = '' OR cluster = $cluster)
    AND ($since = '' OR "start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR "start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
