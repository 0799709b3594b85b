-- title: Jobs, with what the lake knows of each as numbers
-- definition: measured, of some jobs. Other named queries are made of this one, and have its parameters.
-- parameter user (): only this user's jobs; all, if it is empty
-- parameter application (): only jobs of this application
-- parameter cluster (): only jobs of this cluster
SELECT * FROM fleet.measured
WHERE ($user = '' OR "user" = $user) AND ($application = '' OR application = $application)
    AND ($cluster = '' OR cluster = $cluster)
